/* The type `Digests`: a column of digests that behaves like a sequence of `str | None`. */
#include "digests.h"

#include <string.h>

Digests *
Digests_New(Py_ssize_t count)
{
    if (count > PY_SSIZE_T_MAX / (DIGEST_BYTES + 1)) {
        PyErr_NoMemory();
        return NULL;
    }
    Digests *column = PyObject_New(Digests, &Digests_Type);
    if (column == NULL) {
        return NULL;
    }
    column->owner = NULL;
    column->count = count;
    column->digests = PyMem_Calloc(count ? count : 1, DIGEST_BYTES + 1);
    if (column->digests == NULL) {
        Py_DECREF(column);
        PyErr_NoMemory();
        return NULL;
    }
    column->states = column->digests + count * DIGEST_BYTES;
    return column;
}

static void
digests_dealloc(Digests *self)
{
    if (self->owner == NULL) {
        PyMem_Free(self->digests);
    }
    Py_XDECREF(self->owner);
    PyObject_Free(self);
}

static Digests *
copied_part(const Digests *self, Py_ssize_t start, Py_ssize_t count)
{
    Digests *part = Digests_New(count);
    if (part != NULL) {
        memcpy(part->digests, digest_at(self, start), (size_t)count * DIGEST_BYTES);
        memcpy(part->states, self->states + start, (size_t)count);
    }
    return part;
}

Digests *
Digests_Part(Digests *self, Py_ssize_t start, Py_ssize_t count)
{
    Digests *owner = self->owner != NULL ? (Digests *)self->owner : self;
    if (is_small_part(count, owner->count)) {
        return copied_part(self, start, count);
    }
    Digests *part = PyObject_New(Digests, &Digests_Type);
    if (part == NULL) {
        return NULL;
    }
    part->count = count;
    part->digests = self->digests + start * DIGEST_BYTES;
    part->states = self->states + start;
    part->owner = Py_NewRef((PyObject *)owner);
    return part;
}

static void
copy_cell(Digests *to, Py_ssize_t at, const Digests *from, Py_ssize_t index)
{
    memcpy(to->digests + at * DIGEST_BYTES, digest_at(from, index), DIGEST_BYTES);
    to->states[at] = from->states[index];
}

/* Reading ------------------------------------------------------------------------------------- */

static Py_ssize_t
digests_length(Digests *self)
{
    return self->count;
}

static PyObject *
cell_object(const Digests *self, Py_ssize_t index)
{
    if (self->states[index] == CELL_UNDECIDED) {
        return Py_NewRef(Py_None);
    }
    if (self->states[index] == CELL_EMPTY) {
        return PyUnicode_New(0, 0);
    }
    PyObject *text = PyUnicode_New(DIGEST_DIGITS, 127);
    if (text != NULL) {
        digest_to_hex(digest_at(self, index), (char *)PyUnicode_1BYTE_DATA(text));
    }
    return text;
}

static PyObject *
digests_item(Digests *self, Py_ssize_t index)
{
    if (index < 0 || index >= self->count) {
        PyErr_SetString(PyExc_IndexError, "the column has no such row");
        return NULL;
    }
    return cell_object(self, index);
}

static PyObject *
digests_slice(Digests *self, PyObject *slice)
{
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(slice, &start, &stop, &step) < 0) {
        return NULL;
    }
    Py_ssize_t count = PySlice_AdjustIndices(self->count, &start, &stop, step);
    if (step == 1) {
        return (PyObject *)Digests_Part(self, start, count);
    }
    Digests *chosen = Digests_New(count);
    if (chosen == NULL) {
        return NULL;
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        copy_cell(chosen, at, self, start + at * step);
    }
    return (PyObject *)chosen;
}

static PyObject *
digests_subscript(Digests *self, PyObject *key)
{
    if (PySlice_Check(key)) {
        return digests_slice(self, key);
    }
    Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (index == -1 && PyErr_Occurred()) {
        return NULL;
    }
    return digests_item(self, index < 0 ? index + self->count : index);
}

/* Writing ------------------------------------------------------------------------------------- */

/* Reads a new value of a cell. Returns its state, or -1 with an exception set. */
static int
parse_cell(PyObject *value, uint8_t *digest)
{
    memset(digest, 0, DIGEST_BYTES);
    if (value == Py_None) {
        return CELL_UNDECIDED;
    }
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "a cell holds a str or None, not %.100s", Py_TYPE(value)->tp_name);
        return -1;
    }
    Py_ssize_t length = PyUnicode_GET_LENGTH(value);
    if (length == 0) {
        return CELL_EMPTY;
    }
    if (length == DIGEST_DIGITS && PyUnicode_IS_ASCII(value)
        && digest_from_hex(PyUnicode_1BYTE_DATA(value), digest) == HEX_LOWER) {
        return CELL_DIGEST;
    }
    PyErr_SetString(PyExc_ValueError, "a cell holds 64 lower-case hexadecimal digits, or nothing");
    return -1;
}

static int
digests_set_item(Digests *self, Py_ssize_t index, PyObject *value)
{
    if (index < 0 || index >= self->count) {
        PyErr_SetString(PyExc_IndexError, "the column has no such row");
        return -1;
    }
    if (value == NULL) {
        PyErr_SetString(PyExc_TypeError, "a column keeps its length");
        return -1;
    }
    uint8_t digest[DIGEST_BYTES];
    int state = parse_cell(value, digest);
    if (state < 0) {
        return -1;
    }
    memcpy(self->digests + index * DIGEST_BYTES, digest, DIGEST_BYTES);
    self->states[index] = (uint8_t)state;
    return 0;
}

static int
digests_set_subscript(Digests *self, PyObject *key, PyObject *value)
{
    if (PySlice_Check(key)) {
        PyErr_SetString(PyExc_TypeError, "a column is changed cell by cell");
        return -1;
    }
    Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (index == -1 && PyErr_Occurred()) {
        return -1;
    }
    return digests_set_item(self, index < 0 ? index + self->count : index, value);
}

static PyObject *
digests_new(PyTypeObject *Py_UNUSED(type), PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"", NULL};
    PyObject *given;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O:Digests", names, &given)) {
        return NULL;
    }
    /* A copy as a tuple, because other code cannot change its length. */
    PyObject *cells = PySequence_Tuple(given);
    if (cells == NULL) {
        return NULL;
    }
    Digests *column = Digests_New(PyTuple_GET_SIZE(cells));
    for (Py_ssize_t at = 0; column != NULL && at < column->count; at++) {
        if (digests_set_item(column, at, PyTuple_GET_ITEM(cells, at)) < 0) {
            Py_CLEAR(column);
        }
    }
    Py_DECREF(cells);
    return (PyObject *)column;
}

/* Searching and choosing ---------------------------------------------------------------------- */

static Py_ssize_t
find_digest(const Digests *self, const uint8_t *digest)
{
    for (Py_ssize_t at = 0; at < self->count; at++) {
        if (self->states[at] == CELL_DIGEST && memcmp(digest_at(self, at), digest, DIGEST_BYTES) == 0) {
            return at;
        }
    }
    return -1;
}

static int
digests_contains(Digests *self, PyObject *value)
{
    uint8_t digest[DIGEST_BYTES];
    int state = parse_cell(value, digest);
    if (state < 0) {
        PyErr_Clear(); /* no cell can hold it */
        return 0;
    }
    if (state == CELL_DIGEST) {
        return find_digest(self, digest) >= 0;
    }
    return memchr(self->states, state, self->count) != NULL;
}

static PyObject *
digests_index(Digests *self, PyObject *value)
{
    Py_ssize_t at = PySequence_Index((PyObject *)self, value);
    return at < 0 ? NULL : PyLong_FromSsize_t(at);
}

static Py_ssize_t
count_state(const Digests *self, int state)
{
    Py_ssize_t count = 0;
    for (Py_ssize_t at = 0; at < self->count; at++) {
        count += self->states[at] == state;
    }
    return count;
}

static PyObject *
digests_count(Digests *self, PyObject *value)
{
    uint8_t digest[DIGEST_BYTES];
    int state = parse_cell(value, digest);
    if (state < 0) {
        PyErr_Clear(); /* no cell can hold it */
        return PyLong_FromLong(0);
    }
    Py_ssize_t count = 0;
    for (Py_ssize_t at = 0; at < self->count; at++) {
        count += self->states[at] == state && memcmp(digest_at(self, at), digest, DIGEST_BYTES) == 0;
    }
    return PyLong_FromSsize_t(count);
}

/* Returns the indexes of the cells in either of two states. */
static PyObject *
indexes_of(const Digests *self, int state, int or_state)
{
    PyObject *found = PyList_New(0);
    for (Py_ssize_t at = 0; found != NULL && at < self->count; at++) {
        int is_wanted = self->states[at] == state || self->states[at] == or_state;
        if (is_wanted && append_index(found, at) < 0) {
            Py_CLEAR(found);
        }
    }
    return found;
}

PyDoc_STRVAR(digests_gaps_doc, "Returns the indexes of the cells without a digest: empty and undecided ones.");

static PyObject *
digests_gaps(Digests *self, PyObject *Py_UNUSED(ignored))
{
    return indexes_of(self, CELL_EMPTY, CELL_UNDECIDED);
}

PyDoc_STRVAR(digests_undecided_doc, "Returns the indexes of the undecided cells, which are None.");

static PyObject *
digests_undecided(Digests *self, PyObject *Py_UNUSED(ignored))
{
    return indexes_of(self, CELL_UNDECIDED, CELL_UNDECIDED);
}

PyDoc_STRVAR(digests_same_as_doc, "Returns the indexes of the rows in which both columns have the same digest.");

static PyObject *
digests_same_as(Digests *self, PyObject *other)
{
    if (!Digests_Check(other) || ((Digests *)other)->count != self->count) {
        PyErr_SetString(PyExc_ValueError, "the other column must have the same rows");
        return NULL;
    }
    const Digests *beside = (Digests *)other;
    PyObject *found = PyList_New(0);
    for (Py_ssize_t at = 0; found != NULL && at < self->count; at++) {
        if (self->states[at] != CELL_DIGEST || beside->states[at] != CELL_DIGEST) {
            continue;
        }
        if (memcmp(digest_at(self, at), digest_at(beside, at), DIGEST_BYTES) == 0 && append_index(found, at) < 0) {
            Py_CLEAR(found);
        }
    }
    return found;
}

PyDoc_STRVAR(digests_packed_doc, "Returns the concatenated digests, without cells that have no digest.");

static PyObject *
digests_packed(Digests *self, PyObject *Py_UNUSED(ignored))
{
    Py_ssize_t found = count_state(self, CELL_DIGEST);
    if (found == self->count) {
        return PyBytes_FromStringAndSize((const char *)self->digests, found * DIGEST_BYTES);
    }
    PyObject *packed = PyBytes_FromStringAndSize(NULL, found * DIGEST_BYTES);
    if (packed == NULL) {
        return NULL;
    }
    char *next = PyBytes_AS_STRING(packed);
    for (Py_ssize_t at = 0; at < self->count; at++) {
        if (self->states[at] == CELL_DIGEST) {
            memcpy(next, digest_at(self, at), DIGEST_BYTES);
            next += DIGEST_BYTES;
        }
    }
    return packed;
}

PyDoc_STRVAR(digests_compress_doc,
"Returns a column of the cells whose byte in the bytes or bytearray is not zero.");

static Digests *
compressed(const Digests *self, const uint8_t *kept)
{
    Py_ssize_t count = 0;
    for (Py_ssize_t at = 0; at < self->count; at++) {
        count += kept[at] != 0;
    }
    Digests *chosen = Digests_New(count);
    Py_ssize_t next = 0;
    for (Py_ssize_t at = 0; chosen != NULL && at < self->count; at++) {
        if (kept[at]) {
            copy_cell(chosen, next++, self, at);
        }
    }
    return chosen;
}

static PyObject *
digests_compress(Digests *self, PyObject *given)
{
    Py_buffer kept;
    if (!PyBytes_Check(given) && !PyByteArray_Check(given)) { /* shared memory may change meanwhile */
        PyErr_SetString(PyExc_TypeError, "kept must be bytes or a bytearray");
        return NULL;
    }
    if (PyObject_GetBuffer(given, &kept, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    Digests *chosen = NULL;
    if (kept.len == self->count) {
        chosen = compressed(self, kept.buf);
    } else {
        PyErr_SetString(PyExc_ValueError, "kept must have a byte for each row");
    }
    PyBuffer_Release(&kept);
    return (PyObject *)chosen;
}

PyDoc_STRVAR(digests_unpacked_doc,
"unpacked(packed, gaps)\n\n"
"Returns a column from concatenated digests, with empty cells at the indexes in the list, which are\n"
"ascending.");

static PyObject *
digests_unpacked(PyObject *Py_UNUSED(type), PyObject *arguments)
{
    const char *packed;
    Py_ssize_t size;
    PyObject *gaps;
    if (!PyArg_ParseTuple(arguments, "y#O!:unpacked", &packed, &size, &PyList_Type, &gaps)) {
        return NULL;
    }
    if (size % DIGEST_BYTES != 0) {
        PyErr_SetString(PyExc_ValueError, "the last digest is incomplete");
        return NULL;
    }
    Digests *column = Digests_New(size / DIGEST_BYTES + PyList_GET_SIZE(gaps));
    if (column == NULL) {
        return NULL;
    }
    Py_ssize_t next = 0, rest = size / DIGEST_BYTES;
    for (Py_ssize_t each = 0; each <= PyList_GET_SIZE(gaps); each++) {
        Py_ssize_t gap = column->count;
        if (each < PyList_GET_SIZE(gaps)) {
            gap = PyLong_AsSsize_t(PyList_GET_ITEM(gaps, each));
            if (gap == -1 && PyErr_Occurred()) {
                goto error;
            }
        }
        if (gap < next || gap - next > rest) {
            PyErr_SetString(PyExc_ValueError, "the gaps must be ascending indexes of the column");
            goto error;
        }
        memcpy(column->digests + next * DIGEST_BYTES, packed, (size_t)(gap - next) * DIGEST_BYTES);
        memset(column->states + next, CELL_DIGEST, (size_t)(gap - next));
        packed += (gap - next) * DIGEST_BYTES;
        rest -= gap - next;
        next = gap + 1;
    }
    return (PyObject *)column;

error:
    Py_DECREF(column);
    return NULL;
}

PyDoc_STRVAR(digests_joined_doc, "Concatenates a tuple of columns.");

static PyObject *
digests_joined(PyObject *Py_UNUSED(type), PyObject *columns)
{
    if (!PyTuple_CheckExact(columns)) {
        PyErr_SetString(PyExc_TypeError, "columns must be a tuple");
        return NULL;
    }
    Py_ssize_t count = 0;
    for (Py_ssize_t each = 0; each < PyTuple_GET_SIZE(columns); each++) {
        PyObject *column = PyTuple_GET_ITEM(columns, each);
        if (!Digests_Check(column)) {
            PyErr_SetString(PyExc_TypeError, "every column must be Digests");
            return NULL;
        }
        if (((Digests *)column)->count > PY_SSIZE_T_MAX - count) {
            return PyErr_NoMemory();
        }
        count += ((Digests *)column)->count;
    }
    Digests *joined = Digests_New(count);
    if (joined == NULL) {
        return NULL;
    }
    Py_ssize_t next = 0;
    for (Py_ssize_t each = 0; each < PyTuple_GET_SIZE(columns); each++) {
        const Digests *column = (Digests *)PyTuple_GET_ITEM(columns, each);
        memcpy(joined->digests + next * DIGEST_BYTES, column->digests, column->count * DIGEST_BYTES);
        memcpy(joined->states + next, column->states, column->count);
        next += column->count;
    }
    return (PyObject *)joined;
}

/* The type ------------------------------------------------------------------------------------ */

static PyObject *
digests_repr(Digests *self)
{
    /* Digests of identifiers are personal data, and reprs appear in logs. */
    return PyUnicode_FromFormat("<Digests of %zd cells>", self->count);
}

static PyObject *
digests_sizeof(Digests *self, PyObject *Py_UNUSED(ignored))
{
    Py_ssize_t cells = self->owner == NULL ? self->count * (DIGEST_BYTES + 1) : 0;
    return PyLong_FromSsize_t((Py_ssize_t)sizeof(Digests) + cells);
}

static PySequenceMethods digests_as_sequence = {
    .sq_length = (lenfunc)digests_length,
    .sq_item = (ssizeargfunc)digests_item,
    .sq_ass_item = (ssizeobjargproc)digests_set_item,
    .sq_contains = (objobjproc)digests_contains,
};

static PyMappingMethods digests_as_mapping = {
    .mp_length = (lenfunc)digests_length,
    .mp_subscript = (binaryfunc)digests_subscript,
    .mp_ass_subscript = (objobjargproc)digests_set_subscript,
};

static PyMethodDef digests_methods[] = {
    {"index", (PyCFunction)digests_index, METH_O, NULL},
    {"count", (PyCFunction)digests_count, METH_O, NULL},
    {"compress", (PyCFunction)digests_compress, METH_O, digests_compress_doc},
    {"joined", (PyCFunction)digests_joined, METH_O | METH_CLASS, digests_joined_doc},
    {"unpacked", (PyCFunction)digests_unpacked, METH_VARARGS | METH_CLASS, digests_unpacked_doc},
    {"same_as", (PyCFunction)digests_same_as, METH_O, digests_same_as_doc},
    {"packed", (PyCFunction)digests_packed, METH_NOARGS, digests_packed_doc},
    {"gaps", (PyCFunction)digests_gaps, METH_NOARGS, digests_gaps_doc},
    {"undecided", (PyCFunction)digests_undecided, METH_NOARGS, digests_undecided_doc},
    {"__sizeof__", (PyCFunction)digests_sizeof, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(digests_doc, "A column of digests. Each cell has 64 hexadecimal digits, an empty str, or None.");

PyTypeObject Digests_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "socialapi._speedups._native.Digests",
    .tp_doc = digests_doc,
    .tp_basicsize = sizeof(Digests),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_SEQUENCE,
    .tp_new = digests_new,
    .tp_dealloc = (destructor)digests_dealloc,
    .tp_repr = (reprfunc)digests_repr,
    .tp_hash = PyObject_HashNotImplemented,
    .tp_as_sequence = &digests_as_sequence,
    .tp_as_mapping = &digests_as_mapping,
    .tp_methods = digests_methods,
};

int
register_sequence(PyTypeObject *type)
{
    PyObject *abc = PyImport_ImportModule("collections.abc");
    if (abc == NULL) {
        return -1;
    }
    PyObject *sequence = PyObject_GetAttrString(abc, "Sequence");
    Py_DECREF(abc);
    if (sequence == NULL) {
        return -1;
    }
    PyObject *registered = PyObject_CallMethod(sequence, "register", "O", type);
    Py_DECREF(sequence);
    Py_XDECREF(registered);
    return registered == NULL ? -1 : 0;
}

int
add_digests(PyObject *module)
{
    if (PyModule_AddType(module, &Digests_Type) < 0) {
        return -1;
    }
    return register_sequence(&Digests_Type);
}
