/* The type `Users`: the user objects of rows, whose JSON is rendered from columns on demand. */
#include "digests.h"

#include <string.h>

/* A column of the values of one kind: `digests`, or values in JSON in `texts`, which are empty
 * strings for rows without a value. */
typedef struct {
    const Digests *digests;
    PyObject *texts;
} UserColumn;

typedef struct {
    const char *name; /* the name of the kind */
    Py_ssize_t name_size;
    Py_ssize_t first; /* the index of its first column among all columns */
    Py_ssize_t stop;
} UserMember;

/* The columns that slices of the same rows share. */
typedef struct {
    PyObject_HEAD
    PyObject *given; /* keeps the memory of the other members alive */
    Py_ssize_t count;
    Py_ssize_t members;
    UserMember *member;
    UserColumn *column;
} UserLayout;

/* A sequence of `str`. */
typedef struct {
    PyObject_HEAD
    UserLayout *layout;
    Py_ssize_t first;
    Py_ssize_t count;
} Users;

static PyTypeObject UserLayout_Type;
static PyTypeObject Users_Type;

/* Layouts ------------------------------------------------------------------------------------- */

static void
layout_dealloc(UserLayout *self)
{
    PyMem_Free(self->member);
    PyMem_Free(self->column);
    Py_XDECREF(self->given);
    PyObject_Free(self);
}

/* Checks the column, because `write_row` does not. Returns the number of cells, or -1 with an
 * exception set. */
static Py_ssize_t
read_column(PyObject *given, UserColumn *column)
{
    if (Digests_Check(given)) {
        column->digests = (Digests *)given;
        return column->digests->count;
    }
    if (!PyTuple_CheckExact(given)) {
        PyErr_SetString(PyExc_TypeError, "a column must be Digests or a tuple of values in JSON");
        return -1;
    }
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(given); at++) {
        PyObject *text = PyTuple_GET_ITEM(given, at);
        if (!PyUnicode_Check(text) || !PyUnicode_IS_COMPACT_ASCII(text)) {
            PyErr_SetString(PyExc_TypeError, "a value in JSON must be ASCII");
            return -1;
        }
    }
    column->texts = given;
    return PyTuple_GET_SIZE(given);
}

static int
read_columns(UserLayout *layout, PyObject *columns)
{
    UserMember *member = &layout->member[layout->members];
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(columns); at++) {
        Py_ssize_t count = read_column(PyTuple_GET_ITEM(columns, at), &layout->column[member->stop]);
        if (count < 0) {
            return -1;
        }
        if (layout->count >= 0 && layout->count != count) {
            PyErr_SetString(PyExc_ValueError, "every column must have a cell for each row");
            return -1;
        }
        layout->count = count;
        member->stop++;
    }
    return 0;
}

/* Stores a name that JSON does not escape. */
static int
read_name(UserMember *member, PyObject *name)
{
    int is_plain = PyUnicode_IS_COMPACT_ASCII(name);
    for (Py_ssize_t at = 0; is_plain && at < PyUnicode_GET_LENGTH(name); at++) {
        uint8_t letter = PyUnicode_1BYTE_DATA(name)[at];
        is_plain = letter >= ' ' && letter < 0x7f && letter != '"' && letter != '\\';
    }
    if (!is_plain) {
        PyErr_SetString(PyExc_ValueError, "a name must be ASCII, without characters that JSON escapes");
        return -1;
    }
    member->name = (const char *)PyUnicode_1BYTE_DATA(name);
    member->name_size = PyUnicode_GET_LENGTH(name);
    return 0;
}

static int
read_member(UserLayout *layout, PyObject *given)
{
    UserMember *member = &layout->member[layout->members];
    PyObject *name, *columns;
    if (!PyTuple_CheckExact(given) || PyTuple_GET_SIZE(given) != 2 || !PyTuple_CheckExact(PyTuple_GET_ITEM(given, 1))) {
        PyErr_SetString(PyExc_TypeError, "a member must be a pair of its name and a tuple of its columns");
        return -1;
    }
    if (!PyArg_ParseTuple(given, "UO", &name, &columns) || read_name(member, name) < 0) {
        return -1;
    }
    member->first = member->stop = layout->members ? layout->member[layout->members - 1].stop : 0;
    if (read_columns(layout, columns) < 0) {
        return -1;
    }
    layout->members++;
    return 0;
}

/* Returns how many columns the members have together. Invalid members count as 0, because
 * `read_member` rejects them later. */
static Py_ssize_t
count_columns(PyObject *members)
{
    Py_ssize_t count = 0;
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(members); at++) {
        PyObject *member = PyTuple_GET_ITEM(members, at);
        if (PyTuple_Check(member) && PyTuple_GET_SIZE(member) == 2 && PyTuple_Check(PyTuple_GET_ITEM(member, 1))) {
            count += PyTuple_GET_SIZE(PyTuple_GET_ITEM(member, 1));
        }
    }
    return count;
}

static UserLayout *
layout_new(PyObject *members)
{
    UserLayout *layout = PyObject_New(UserLayout, &UserLayout_Type);
    if (layout == NULL) {
        return NULL;
    }
    layout->given = Py_NewRef(members);
    layout->count = -1; /* not known yet */
    layout->members = 0;
    layout->member = PyMem_Calloc((size_t)PyTuple_GET_SIZE(members) + 1, sizeof(UserMember));
    layout->column = PyMem_Calloc((size_t)count_columns(members) + 1, sizeof(UserColumn));
    if (layout->member == NULL || layout->column == NULL) {
        PyErr_NoMemory();
        goto error;
    }
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(members); at++) {
        if (read_member(layout, PyTuple_GET_ITEM(members, at)) < 0) {
            goto error;
        }
    }
    if (layout->count < 0) {
        PyErr_SetString(PyExc_ValueError, "there must be a column");
        goto error;
    }
    return layout;

error:
    Py_DECREF(layout);
    return NULL;
}

/* Rows ---------------------------------------------------------------------------------------- */

/* Returns the size of a value in bytes; 0 if the column has no value in this row. */
static Py_ssize_t
value_size(const UserColumn *column, Py_ssize_t row)
{
    if (column->digests != NULL) {
        return column->digests->states[row] == CELL_DIGEST ? DIGEST_DIGITS + 2 : 0;
    }
    return PyUnicode_GET_LENGTH(PyTuple_GET_ITEM(column->texts, row));
}

static char *
write_value(const UserColumn *column, Py_ssize_t row, Py_ssize_t size, char *to)
{
    if (column->digests != NULL) {
        *to = '"';
        digest_to_hex(digest_at(column->digests, row), to + 1);
        to[DIGEST_DIGITS + 1] = '"';
    } else {
        memcpy(to, PyUnicode_1BYTE_DATA(PyTuple_GET_ITEM(column->texts, row)), (size_t)size);
    }
    return to + size;
}

/* Returns the sum of two sizes, or the largest possible size if it overflows. No object of that
 * size can be allocated. */
static inline Py_ssize_t
sum_of_sizes(Py_ssize_t one, Py_ssize_t other)
{
    return one <= PY_SSIZE_T_MAX - other ? one + other : PY_SSIZE_T_MAX;
}

#define AROUND_NAME 5 /* the brace or comma before it, two quotation marks, a colon, the last bracket */

/* {"email":["…","…"],"phone_number":["…"]}: each value takes a byte more, for the bracket or comma
 * before it. */
static Py_ssize_t
row_size(const UserLayout *layout, Py_ssize_t row)
{
    Py_ssize_t size = 1; /* the last brace */
    for (const UserMember *member = layout->member; member < layout->member + layout->members; member++) {
        Py_ssize_t values = 0;
        for (Py_ssize_t at = member->first; at < member->stop; at++) {
            Py_ssize_t value = value_size(&layout->column[at], row);
            values = value ? sum_of_sizes(values, value + 1) : values;
        }
        size = values ? sum_of_sizes(size, sum_of_sizes(values, member->name_size + AROUND_NAME)) : size;
    }
    return size == 1 ? 2 : size; /* {} */
}

static char *
write_name(const UserMember *member, char before, char *to)
{
    *to++ = before;
    *to++ = '"';
    memcpy(to, member->name, (size_t)member->name_size);
    to += member->name_size;
    memcpy(to, "\":", 2);
    return to + 2;
}

/* Writes a row of `row_size` bytes. Returns the end. */
static char *
write_row(const UserLayout *layout, Py_ssize_t row, char *to)
{
    char *begin = to;
    for (const UserMember *member = layout->member; member < layout->member + layout->members; member++) {
        int has_values = 0;
        for (Py_ssize_t at = member->first; at < member->stop; at++) {
            Py_ssize_t size = value_size(&layout->column[at], row);
            if (size == 0) {
                continue;
            }
            if (!has_values) {
                to = write_name(member, to == begin ? '{' : ',', to);
            }
            *to++ = has_values ? ',' : '[';
            to = write_value(&layout->column[at], row, size, to);
            has_values = 1;
        }
        if (has_values) {
            *to++ = ']';
        }
    }
    if (to == begin) {
        *to++ = '{';
    }
    *to++ = '}';
    return to;
}

/* The sequence -------------------------------------------------------------------------------- */

static Users *
users_of(UserLayout *layout, Py_ssize_t first, Py_ssize_t count)
{
    Users *users = PyObject_New(Users, &Users_Type);
    if (users != NULL) {
        users->layout = (UserLayout *)Py_NewRef((PyObject *)layout);
        users->first = first;
        users->count = count;
    }
    return users;
}

/* Returns a member with only the cells of a range of rows. */
static PyObject *
part_of_member(PyObject *member, Py_ssize_t start, Py_ssize_t count)
{
    PyObject *columns = PyTuple_GET_ITEM(member, 1);
    PyObject *parts = PyTuple_New(PyTuple_GET_SIZE(columns));
    for (Py_ssize_t at = 0; parts != NULL && at < PyTuple_GET_SIZE(parts); at++) {
        PyObject *column = PyTuple_GET_ITEM(columns, at);
        PyObject *part = Digests_Check(column) ? (PyObject *)Digests_Part((Digests *)column, start, count)
                                               : PyTuple_GetSlice(column, start, start + count);
        if (part == NULL) {
            Py_CLEAR(parts);
        } else {
            PyTuple_SET_ITEM(parts, at, part);
        }
    }
    return parts == NULL ? NULL : Py_BuildValue("ON", PyTuple_GET_ITEM(member, 0), parts);
}

/* Returns a copy that keeps only its own rows alive. */
static PyObject *
copied_users(const UserLayout *whole, Py_ssize_t first, Py_ssize_t count)
{
    PyObject *members = PyTuple_New(PyTuple_GET_SIZE(whole->given));
    for (Py_ssize_t at = 0; members != NULL && at < PyTuple_GET_SIZE(members); at++) {
        PyObject *member = part_of_member(PyTuple_GET_ITEM(whole->given, at), first, count);
        if (member == NULL) {
            Py_CLEAR(members);
        } else {
            PyTuple_SET_ITEM(members, at, member);
        }
    }
    UserLayout *layout = members != NULL ? layout_new(members) : NULL;
    Py_XDECREF(members);
    if (layout == NULL) {
        return NULL;
    }
    Users *users = users_of(layout, 0, count);
    Py_DECREF(layout);
    return (PyObject *)users;
}

PyDoc_STRVAR(users_doc,
"Users(members)\n\n"
"The user objects of rows. Members are (name, columns) pairs. A column is Digests, or a tuple of values in\n"
"JSON, with an empty string for no value.");

static PyObject *
users_new(PyTypeObject *Py_UNUSED(type), PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"", NULL};
    PyObject *members;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!:Users", names, &PyTuple_Type, &members)) {
        return NULL;
    }
    UserLayout *layout = layout_new(members);
    if (layout == NULL) {
        return NULL;
    }
    Users *users = users_of(layout, 0, layout->count);
    Py_DECREF(layout);
    return (PyObject *)users;
}

static void
users_dealloc(Users *self)
{
    Py_DECREF(self->layout);
    PyObject_Free(self);
}

static Py_ssize_t
users_length(Users *self)
{
    return self->count;
}

static PyObject *
users_item(Users *self, Py_ssize_t index)
{
    if (index < 0 || index >= self->count) {
        PyErr_SetString(PyExc_IndexError, "row index out of range");
        return NULL;
    }
    Py_ssize_t row = self->first + index;
    PyObject *text = PyUnicode_New(row_size(self->layout, row), 127);
    if (text != NULL) {
        write_row(self->layout, row, (char *)PyUnicode_1BYTE_DATA(text));
    }
    return text;
}

static PyObject *
users_subscript(Users *self, PyObject *key)
{
    if (PySlice_Check(key)) {
        Py_ssize_t start, stop, step;
        if (PySlice_Unpack(key, &start, &stop, &step) < 0) {
            return NULL;
        }
        Py_ssize_t count = PySlice_AdjustIndices(self->count, &start, &stop, step);
        if (step != 1) {
            PyErr_SetString(PyExc_ValueError, "slices of users must have step 1");
            return NULL;
        }
        if (is_small_part(count, self->layout->count)) {
            return copied_users(self->layout, self->first + start, count);
        }
        return (PyObject *)users_of(self->layout, self->first + start, count);
    }
    Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (index == -1 && PyErr_Occurred()) {
        return NULL;
    }
    return users_item(self, index < 0 ? index + self->count : index);
}

PyDoc_STRVAR(users_fitting_doc,
"fitting(most, more, room)\n\n"
"Returns how many of the first `most` rows fit into `room` bytes, and how many bytes they take, if each row\n"
"takes `more` bytes in addition to its JSON.");

static PyObject *
users_fitting(Users *self, PyObject *arguments)
{
    Py_ssize_t most, more, room;
    if (!PyArg_ParseTuple(arguments, "nnn:fitting", &most, &more, &room)) {
        return NULL;
    }
    if (more < 0) {
        PyErr_SetString(PyExc_ValueError, "a row takes at least the size of its JSON");
        return NULL;
    }
    Py_ssize_t rows = 0, taken = 0;
    while (rows < most && rows < self->count) {
        Py_ssize_t size = row_size(self->layout, self->first + rows);
        if (more > PY_SSIZE_T_MAX - size || size + more > room - taken) {
            break;
        }
        taken += size + more;
        rows++;
    }
    return Py_BuildValue("nn", rows, taken);
}

PyDoc_STRVAR(users_render_doc,
"render(between, before)\n\n"
"Returns the JSON of all rows, separated by `between` and preceded by `before`.");

static Py_ssize_t
rendered_size(const Users *self, Py_ssize_t between)
{
    Py_ssize_t size = 0;
    for (Py_ssize_t at = 0; at < self->count; at++) {
        size = sum_of_sizes(size, row_size(self->layout, self->first + at));
        size = at > 0 ? sum_of_sizes(size, between) : size;
    }
    return size;
}

static PyObject *
users_render(Users *self, PyObject *arguments)
{
    const char *between, *before;
    Py_ssize_t between_size, before_size;
    if (!PyArg_ParseTuple(arguments, "y#y#:render", &between, &between_size, &before, &before_size)) {
        return NULL;
    }
    PyObject *body = PyBytes_FromStringAndSize(NULL, sum_of_sizes(before_size, rendered_size(self, between_size)));
    if (body == NULL) {
        return NULL;
    }
    char *next = PyBytes_AS_STRING(body);
    memcpy(next, before, (size_t)before_size);
    next += before_size;
    for (Py_ssize_t at = 0; at < self->count; at++) {
        if (at > 0) {
            memcpy(next, between, (size_t)between_size);
            next += between_size;
        }
        next = write_row(self->layout, self->first + at, next);
    }
    return body;
}

static PyObject *
users_index(Users *self, PyObject *value)
{
    Py_ssize_t at = PySequence_Index((PyObject *)self, value);
    return at < 0 ? NULL : PyLong_FromSsize_t(at);
}

static PyObject *
users_count(Users *self, PyObject *value)
{
    Py_ssize_t count = PySequence_Count((PyObject *)self, value);
    return count < 0 ? NULL : PyLong_FromSsize_t(count);
}

/* The types ----------------------------------------------------------------------------------- */

static PySequenceMethods users_as_sequence = {
    .sq_length = (lenfunc)users_length,
    .sq_item = (ssizeargfunc)users_item,
};

static PyMappingMethods users_as_mapping = {
    .mp_length = (lenfunc)users_length,
    .mp_subscript = (binaryfunc)users_subscript,
};

static PyMethodDef users_methods[] = {
    {"index", (PyCFunction)users_index, METH_O, NULL},
    {"count", (PyCFunction)users_count, METH_O, NULL},
    {"fitting", (PyCFunction)users_fitting, METH_VARARGS, users_fitting_doc},
    {"render", (PyCFunction)users_render, METH_VARARGS, users_render_doc},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject UserLayout_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "socialapi._speedups._native.UserLayout",
    .tp_basicsize = sizeof(UserLayout),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = (destructor)layout_dealloc,
};

static PyTypeObject Users_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "socialapi._speedups._native.Users",
    .tp_doc = users_doc,
    .tp_basicsize = sizeof(Users),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_SEQUENCE,
    .tp_new = users_new,
    .tp_dealloc = (destructor)users_dealloc,
    .tp_as_sequence = &users_as_sequence,
    .tp_as_mapping = &users_as_mapping,
    .tp_methods = users_methods,
};

int
add_users(PyObject *module)
{
    if (PyType_Ready(&UserLayout_Type) < 0) {
        return -1;
    }
    if (PyModule_AddType(module, &Users_Type) < 0) {
        return -1;
    }
    return register_sequence(&Users_Type);
}
