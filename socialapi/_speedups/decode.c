/* Reads objects of attrs classes from decoded JSON, using the plan of the class.
 *
 * A reader visits the members of an object once, in any order, and stores each value in the slot of
 * its field. A value of the planned type needs no call into Python. Any other value (such as a
 * number in a string) is passed to the function of its field, and anything but a plain dict to the
 * Python reader, so both readers always agree.
 *
 * Unreadable data raises one of a few exception types. The caller in Python catches it, and reads
 * the data again to find the invalid member.
 */
#include "native.h"

#include <datetime.h>
#include <stdbool.h>
#include <stdint.h>
#include <structmember.h>

/* The ways of reading a value. */
enum form { ANY, TEXT, BOOLEAN, WHOLE_NUMBER, NUMBER, TIME, OTHER };

typedef struct ObjectReader ObjectReader;

typedef struct {
    PyObject *name;       /* on the wire; NULL for a field that only has its default */
    PyObject *key;        /* the last string with this name, to compare addresses */
    Py_hash_t hash;       /* the hash of the name */
    Py_ssize_t next_field; /* the index of the field that came next last time */
    Py_ssize_t offset;    /* the offset of the slot within the object */
    int form;
    int is_array;
    int is_required;
    int is_late;          /* whether a missing or empty value leaves the slot empty */
    PyObject *fallback;   /* the default otherwise */
    PyObject *make_fallback; /* creates the default per object; NULL if all share `fallback` */
    ObjectReader *nested; /* reads an object, or the items of an array; NULL for other kinds */
    PyObject *convert;    /* reads any value; may return None */
} Field;

/* `cls` and the fields are empty before the first object, and if Python must create the objects. */
struct ObjectReader {
    PyObject_HEAD
    PyObject *describe;       /* returns the plan of the class; NULL after the first object */
    PyTypeObject *cls;
    Field *fields;
    Py_ssize_t field_count;
    Py_ssize_t *buckets;      /* a hash table: indexes into `fields`, or EMPTY */
    size_t bucket_mask;
    Py_ssize_t extra_offset;  /* the offset of the slot for unknown members; NO_SLOT if there is none */
    PyObject *reference;      /* the reader in Python; NULL once the collector has cleared this object */
    PyObject *unreadable;     /* the exception types for unreadable data */
};

#define EMPTY (-1)
#define NO_SLOT (-1)

static PyTypeObject ObjectReaderType;
static int load_class(ObjectReader *self);
static PyObject *read_object(ObjectReader *self, PyObject *data);

static inline PyObject **
slot_of(PyObject *object, Py_ssize_t offset)
{
    return (PyObject **)((char *)object + offset);
}

/* Times ------------------------------------------------------------------------------------- */

/* Returns the number with `count` digits, or -1 if one of the characters is not a digit. */
static int
read_digits(const Py_UCS1 *text, int count)
{
    int number = 0;
    for (int i = 0; i < count; i++) {
        unsigned digit = (unsigned)text[i] - '0';
        if (digit > 9) {
            return -1;
        }
        number = number * 10 + (int)digit;
    }
    return number;
}

/* Returns the microseconds in the rest of a time after the seconds, `Z` or `.123Z`; -1 for
 * anything else. */
static int
read_fraction(const Py_UCS1 *text, Py_ssize_t length)
{
    if (length == 1) {
        return text[0] == 'Z' ? 0 : -1;
    }
    if (length != 5 || text[0] != '.' || text[4] != 'Z') {
        return -1;
    }
    int milliseconds = read_digits(text + 1, 3);
    return milliseconds < 0 ? -1 : milliseconds * 1000;
}

/* Returns the time in a string such as 2026-01-31T09:00:00.000Z, like `datetime.fromisoformat`.
 * Returns NULL without an exception for any other form, and for a time that does not exist. */
static PyObject *
read_plain_time(PyObject *value)
{
    if (!PyUnicode_CheckExact(value) || !PyUnicode_IS_COMPACT_ASCII(value)) {
        return NULL;
    }
    Py_ssize_t length = PyUnicode_GET_LENGTH(value);
    if (length != 20 && length != 24) {
        return NULL;
    }
    const Py_UCS1 *text = PyUnicode_1BYTE_DATA(value);
    if (text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':') {
        return NULL;
    }
    int year = read_digits(text, 4), month = read_digits(text + 5, 2), day = read_digits(text + 8, 2);
    int hour = read_digits(text + 11, 2), minute = read_digits(text + 14, 2), second = read_digits(text + 17, 2);
    int microsecond = read_fraction(text + 19, length - 19);
    if ((year | month | day | hour | minute | second | microsecond) < 0) {
        return NULL; /* one of them is -1 */
    }
    PyObject *time = PyDateTimeAPI->DateTime_FromDateAndTime(year, month, day, hour, minute, second, microsecond,
                                                             PyDateTime_TimeZone_UTC, PyDateTimeAPI->DateTimeType);
    if (time == NULL && PyErr_ExceptionMatches(PyExc_ValueError)) {
        PyErr_Clear();
    }
    return time;
}

/* Values ------------------------------------------------------------------------------------ */

/* Returns whether a scalar needs no conversion. */
static inline bool
is_regular(int form, PyObject *value)
{
    switch (form) {
    case ANY:
        return true;
    case TEXT:
        return PyUnicode_CheckExact(value);
    case BOOLEAN:
        return PyBool_Check(value);
    case WHOLE_NUMBER:
        return PyLong_CheckExact(value);
    case NUMBER:
        return PyFloat_CheckExact(value) || PyLong_CheckExact(value);
    default:
        return false;
    }
}

/* Returns a new tuple of the objects for the dicts in `list`. */
static PyObject *
read_objects(ObjectReader *reader, PyObject *list)
{
    PyObject *objects = PyList_AsTuple(list); /* the dicts, which are replaced one by one */
    if (objects == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(objects); i++) {
        PyObject *data = PyTuple_GET_ITEM(objects, i);
        PyObject *object = read_object(reader, data);
        if (object == NULL) {
            Py_DECREF(objects);
            return NULL;
        }
        PyTuple_SET_ITEM(objects, i, object);
        Py_DECREF(data);
    }
    return objects;
}

/* Returns a new tuple of the items, or NULL without an exception if one needs conversion. */
static PyObject *
read_scalars(int form, PyObject *list)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        if (!is_regular(form, PyList_GET_ITEM(list, i))) {
            return NULL;
        }
    }
    return PyList_AsTuple(list);
}

static PyObject *
read_array(const Field *field, PyObject *value, PyObject *unreadable)
{
    PyObject *items = NULL;
    if (PyList_CheckExact(value)) {
        items = field->nested != NULL ? read_objects(field->nested, value) : read_scalars(field->form, value);
    }
    if (items != NULL) {
        return items;
    }
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(unreadable)) {
            return NULL;
        }
        PyErr_Clear();
    }
    return PyObject_CallOneArg(field->convert, value);
}

/* Reads a value that is not a regular scalar. */
static PyObject *
read_other(const Field *field, PyObject *value, PyObject *unreadable)
{
    if (field->is_array) {
        return read_array(field, value, unreadable);
    }
    if (field->nested != NULL && PyDict_CheckExact(value)) {
        return read_object(field->nested, value);
    }
    if (field->form == TIME) {
        PyObject *time = read_plain_time(value);
        if (time != NULL || PyErr_Occurred()) {
            return time;
        }
    }
    return PyObject_CallOneArg(field->convert, value);
}

/* Returns a new reference to the converted value, which may be None. */
static PyObject *
read_value(const Field *field, PyObject *value, PyObject *unreadable)
{
    if (!field->is_array && is_regular(field->form, value)) {
        return Py_NewRef(value);
    }
    Py_INCREF(value); /* Python code may run, which might drop the last reference to it */
    PyObject *read = read_other(field, value, unreadable);
    Py_DECREF(value);
    return read;
}

/* Objects ----------------------------------------------------------------------------------- */

/* Returns the index of the field with this name, or EMPTY. */
static Py_ssize_t
look_up(ObjectReader *self, PyObject *key, Py_hash_t hash)
{
    size_t bucket = (size_t)hash & self->bucket_mask;
    Py_ssize_t index;
    while ((index = self->buckets[bucket]) != EMPTY) {
        Field *field = &self->fields[index];
        if (field->key == key) {
            return index;
        }
        if (field->hash == hash && PyUnicode_Compare(field->name, key) == 0) {
            /* The decoder caches its keys, so the same string is likely to return. */
            Py_SETREF(field->key, Py_NewRef(key));
            return index;
        }
        bucket = (bucket + 1) & self->bucket_mask;
    }
    return EMPTY;
}

/* Stores the value of a field, unless it is null or empty. Returns 0, or -1 with an exception. */
static int
store_field(ObjectReader *self, const Field *field, PyObject *object, PyObject *value)
{
    bool keeps_null = field->is_required && field->form == ANY && !field->is_array;
    if (value == Py_None && !keeps_null) {
        return 0;
    }
    PyObject *read = read_value(field, value, self->unreadable);
    if (read == NULL) {
        return -1;
    }
    if (read == Py_None && !keeps_null) {
        Py_DECREF(read);
        return 0;
    }
    Py_XSETREF(*slot_of(object, field->offset), read);
    return 0;
}

/* Stores a member that has no field. */
static int
store_extra(ObjectReader *self, PyObject *object, PyObject *key, PyObject *value)
{
    if (self->extra_offset == NO_SLOT) {
        return 0;
    }
    PyObject **extra = slot_of(object, self->extra_offset);
    Py_INCREF(key); /* the collector may run Python code */
    Py_INCREF(value);
    if (*extra == NULL) {
        *extra = PyDict_New();
    }
    int stored = *extra == NULL ? -1 : PyDict_SetItem(*extra, key, value);
    Py_DECREF(key);
    Py_DECREF(value);
    return stored;
}

/* Stores the members in the slots of their fields. Returns 1; 0 if a key is not a plain string,
 * in which case Python must read the data; -1 with an exception. */
static int
store_members(ObjectReader *self, PyObject *object, PyObject *data)
{
    Py_ssize_t position = 0, expected = 0, *next_field = NULL;
    PyObject *key, *value;
    while (PyDict_Next(data, &position, &key, &value)) {
        Py_ssize_t index = expected;
        if (self->fields[expected].key != key) {
            if (!PyUnicode_CheckExact(key)) {
                return 0;
            }
            Py_hash_t hash = PyObject_Hash(key);
            if (hash == -1) {
                return -1;
            }
            index = look_up(self, key, hash);
            if (index == EMPTY) {
                if (store_extra(self, object, key, value) < 0) {
                    return -1;
                }
                continue;
            }
            if (next_field != NULL) {
                *next_field = index;
            }
        }
        Field *field = &self->fields[index];
        if (store_field(self, field, object, value) < 0) {
            return -1;
        }
        next_field = &field->next_field;
        expected = *next_field;
    }
    return 1;
}

/* Returns a new reference to the default of a field. */
static inline PyObject *
make_default(const Field *field)
{
    if (field->make_fallback == NULL) {
        return Py_NewRef(field->fallback);
    }
    return field->make_fallback == (PyObject *)&PyDict_Type ? PyDict_New() : PyObject_CallNoArgs(field->make_fallback);
}

/* Fills the empty slots with their defaults. Raises KeyError if a field has no default. */
static int
store_defaults(ObjectReader *self, PyObject *object)
{
    for (Py_ssize_t i = 0; i < self->field_count; i++) {
        const Field *field = &self->fields[i];
        PyObject **slot = slot_of(object, field->offset);
        if (*slot != NULL || field->is_late) {
            continue;
        }
        if (field->is_required) {
            PyErr_SetObject(PyExc_KeyError, field->name);
            return -1;
        }
        PyObject *made = make_default(field);
        if (made == NULL) {
            return -1;
        }
        *slot = made;
    }
    return 0;
}

static PyObject *
read_by_reference(ObjectReader *self, PyObject *data)
{
    if (self->reference == NULL) {
        PyErr_SetString(PyExc_ReferenceError, "the reader is being collected");
        return NULL;
    }
    return PyObject_CallMethod(self->reference, "read", "(O)", data);
}

static PyObject *
read_dict(ObjectReader *self, PyObject *data)
{
    PyObject *object = self->cls->tp_alloc(self->cls, 0); /* with empty slots */
    if (object == NULL) {
        return NULL;
    }
    int stored = store_members(self, object, data);
    if (stored > 0 && store_defaults(self, object) == 0) {
        return object;
    }
    Py_DECREF(object);
    return stored == 0 ? read_by_reference(self, data) : NULL;
}

static PyObject *
read_object(ObjectReader *self, PyObject *data)
{
    if (self->describe != NULL && load_class(self) < 0) {
        return NULL;
    }
    if (self->cls == NULL || !PyDict_CheckExact(data)) {
        return read_by_reference(self, data);
    }
    if (Py_EnterRecursiveCall(" while reading an object")) {
        return NULL;
    }
    PyObject *object = read_dict(self, data);
    Py_LeaveRecursiveCall();
    return object;
}

/* Classes ----------------------------------------------------------------------------------- */

/* Returns the offset of the slot of a descriptor of `cls`; -1 with an exception. */
static Py_ssize_t
offset_of(PyTypeObject *cls, PyObject *slot)
{
    if (Py_IS_TYPE(slot, &PyMemberDescr_Type)) {
        PyMemberDescrObject *descriptor = (PyMemberDescrObject *)slot;
        if (PyType_IsSubtype(cls, PyDescr_TYPE(descriptor)) && descriptor->d_member->type == T_OBJECT_EX) {
            return descriptor->d_member->offset;
        }
    }
    PyErr_Format(PyExc_SystemError, "no slot of %.100s", cls->tp_name);
    return -1;
}

/* Returns the way of reading values of a kind. */
static int
form_of(PyObject *kind)
{
    const struct {
        PyTypeObject *kind;
        enum form form;
    } forms[] = {
        {&PyBaseObject_Type, ANY}, {&PyUnicode_Type, TEXT}, {&PyBool_Type, BOOLEAN},
        {&PyLong_Type, WHOLE_NUMBER}, {&PyFloat_Type, NUMBER}, {PyDateTimeAPI->DateTimeType, TIME},
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (kind == (PyObject *)forms[i].kind) {
            return forms[i].form;
        }
    }
    return OTHER;
}

/* Stores the name of a field, which may be None. */
static int
set_name(Field *field, PyObject *name)
{
    if (name == Py_None) {
        return 0;
    }
    if (!PyUnicode_CheckExact(name)) {
        PyErr_SetString(PyExc_SystemError, "a name must be a str");
        return -1;
    }
    field->name = Py_NewRef(name);
    field->key = Py_NewRef(name);
    field->hash = PyObject_Hash(name);
    return field->hash == -1 ? -1 : 0;
}

/* Stores the plan of a field: `FieldPlan` of socialapi/wire/class_readers.py. */
static int
set_field(PyTypeObject *cls, Field *field, PyObject *plan)
{
    PyObject *name, *attribute, *alias, *kind, *fallback, *make_fallback, *slot, *nested, *convert;
    if (!PyArg_ParseTuple(plan, "OOOOppOOOpOO", &name, &attribute, &alias, &kind, &field->is_array,
                          &field->is_required, &fallback, &make_fallback, &slot, &field->is_late, &nested, &convert)) {
        return -1;
    }
    if (set_name(field, name) < 0 || (field->offset = offset_of(cls, slot)) < 0) {
        return -1;
    }
    if (nested != Py_None) {
        if (!Py_IS_TYPE(nested, &ObjectReaderType)) {
            PyErr_SetString(PyExc_SystemError, "the reader of an object must be an ObjectReader");
            return -1;
        }
        field->nested = (ObjectReader *)Py_NewRef(nested);
    }
    field->form = form_of(kind);
    field->fallback = Py_NewRef(fallback);
    field->make_fallback = make_fallback == Py_None ? NULL : Py_NewRef(make_fallback);
    field->convert = Py_NewRef(convert);
    return 0;
}

static int
set_fields(ObjectReader *self, PyObject *descriptions)
{
    Py_ssize_t count = PyTuple_GET_SIZE(descriptions);
    self->fields = PyMem_New(Field, count + 1); /* one more, so that there always is a first one */
    if (self->fields == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memset(self->fields, 0, sizeof(Field) * (size_t)(count + 1));
    self->field_count = count;
    for (Py_ssize_t i = 0; i < count; i++) {
        self->fields[i].next_field = i + 1;
        if (set_field(self->cls, &self->fields[i], PyTuple_GET_ITEM(descriptions, i)) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Fills the hash table of names. At least half of it stays empty. */
static int
fill_buckets(ObjectReader *self)
{
    size_t count = 8;
    while (count < 2 * (size_t)self->field_count) {
        count *= 2;
    }
    self->buckets = PyMem_New(Py_ssize_t, count);
    if (self->buckets == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    self->bucket_mask = count - 1;
    for (size_t bucket = 0; bucket < count; bucket++) {
        self->buckets[bucket] = EMPTY;
    }
    for (Py_ssize_t i = 0; i < self->field_count; i++) {
        if (self->fields[i].name == NULL) {
            continue;
        }
        size_t bucket = (size_t)self->fields[i].hash & self->bucket_mask;
        while (self->buckets[bucket] != EMPTY) {
            bucket = (bucket + 1) & self->bucket_mask;
        }
        self->buckets[bucket] = i;
    }
    return 0;
}

/* Clears the class before it drops references, because dropping one may run Python code that
 * uses the reader. */
static void
forget_class(ObjectReader *self)
{
    PyTypeObject *cls = self->cls;
    Field *fields = self->fields;
    Py_ssize_t count = self->field_count;
    PyMem_Free(self->buckets);
    self->buckets = NULL;
    self->cls = NULL;
    self->fields = NULL;
    self->field_count = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_XDECREF(fields[i].name);
        Py_XDECREF(fields[i].key);
        Py_XDECREF(fields[i].fallback);
        Py_XDECREF(fields[i].make_fallback);
        Py_XDECREF(fields[i].nested);
        Py_XDECREF(fields[i].convert);
    }
    PyMem_Free(fields);
    Py_XDECREF(cls);
}

/* Stores the plan of the class: `ClassPlan` of socialapi/wire/class_readers.py. */
static int
set_class(ObjectReader *self, PyObject *plan)
{
    PyTypeObject *cls;
    PyObject *fields, *given;
    Py_ssize_t extra;
    int fills_slots;
    if (!PyArg_ParseTuple(plan, "O!O!nOp", &PyType_Type, &cls, &PyTuple_Type, &fields, &extra, &given, &fills_slots)) {
        return -1;
    }
    if (!fills_slots) {
        return 0;
    }
    if (cls->tp_new != PyBaseObject_Type.tp_new || PyType_HasFeature(cls, Py_TPFLAGS_IS_ABSTRACT)) {
        PyErr_Format(PyExc_SystemError, "%.100s creates its objects itself, or is abstract", cls->tp_name);
        return -1;
    }
    self->cls = (PyTypeObject *)Py_NewRef(cls);
    self->extra_offset = NO_SLOT;
    if (set_fields(self, fields) < 0 || fill_buckets(self) < 0) {
        return -1;
    }
    if (0 <= extra && extra < self->field_count) {
        self->extra_offset = self->fields[extra].offset;
    }
    return 0;
}

/* Replaces an error in the plan, because callers treat a TypeError as an error in the data. */
static void
blame_plan(void)
{
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError)
        && !PyErr_ExceptionMatches(PyExc_OverflowError)) {
        return;
    }
    PyObject *type, *fault, *traceback;
    PyErr_Fetch(&type, &fault, &traceback);
    PyErr_NormalizeException(&type, &fault, &traceback);
    PyErr_Format(PyExc_SystemError, "the plan of a class is wrong: %S", fault);
    Py_XDECREF(type);
    Py_XDECREF(fault);
    Py_XDECREF(traceback);
}

/* Asks Python for the plan of the class. */
static int
load_class(ObjectReader *self)
{
    PyObject *describe = Py_NewRef(self->describe);
    PyObject *plan = PyObject_CallNoArgs(describe);
    Py_DECREF(describe);
    if (plan == NULL) {
        return -1;
    }
    int result = 0;
    if (self->describe != NULL) { /* NULL if another thread was faster */
        result = set_class(self, plan);
        if (result < 0) {
            blame_plan();
            forget_class(self);
        } else {
            Py_CLEAR(self->describe);
        }
    }
    Py_DECREF(plan);
    return result;
}

/* The Python interface ---------------------------------------------------------------------- */

static PyObject *
reader_read(PyObject *self, PyObject *data)
{
    return read_object((ObjectReader *)self, data);
}

/* Replaces data with objects, and frees the data immediately, because the collector runs
 * depending on the number of containers, and would traverse the data of a page again and again.
 * Returns the index of the first unreadable item. */
static PyObject *
reader_replace_each(PyObject *self, PyObject *items)
{
    if (!PyList_CheckExact(items)) {
        return PyErr_Format(PyExc_TypeError, "expected a list, not %.100s", Py_TYPE(items)->tp_name);
    }
    Py_ssize_t index = 0;
    for (; index < PyList_GET_SIZE(items); index++) {
        PyObject *data = Py_NewRef(PyList_GET_ITEM(items, index));
        PyObject *object = read_object((ObjectReader *)self, data);
        Py_DECREF(data);
        if (object == NULL) {
            if (!PyErr_ExceptionMatches(((ObjectReader *)self)->unreadable)) {
                return NULL;
            }
            PyErr_Clear();
            break;
        }
        if (PyList_SetItem(items, index, object) < 0) { /* the list may have got shorter */
            return NULL;
        }
    }
    return PyLong_FromSsize_t(index);
}

static PyObject *
reader_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"", "", NULL};
    PyObject *describe, *unreadable;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO!:ObjectReader", names, &describe, &PyTuple_Type, &unreadable)) {
        return NULL;
    }
    PyObject *module = PyImport_ImportModule("socialapi._speedups.reference");
    if (module == NULL) {
        return NULL;
    }
    PyObject *reference = PyObject_CallMethod(module, "ObjectReader", "OO", describe, unreadable);
    Py_DECREF(module);
    if (reference == NULL) {
        return NULL;
    }
    ObjectReader *self = (ObjectReader *)type->tp_alloc(type, 0);
    if (self == NULL) {
        Py_DECREF(reference);
        return NULL;
    }
    self->describe = Py_NewRef(describe);
    self->reference = reference;
    self->unreadable = Py_NewRef(unreadable);
    return (PyObject *)self;
}

static int
reader_traverse(PyObject *object, visitproc visit, void *arg)
{
    ObjectReader *self = (ObjectReader *)object;
    Py_VISIT(self->describe);
    Py_VISIT(self->cls);
    Py_VISIT(self->reference);
    Py_VISIT(self->unreadable);
    for (Py_ssize_t i = 0; i < self->field_count; i++) {
        Py_VISIT(self->fields[i].fallback);
        Py_VISIT(self->fields[i].make_fallback);
        Py_VISIT(self->fields[i].nested);
        Py_VISIT(self->fields[i].convert);
    }
    return 0;
}

/* Breaks cycles between the readers of classes that refer to each other. Exception types need no
 * clearing. */
static int
reader_clear(PyObject *object)
{
    ObjectReader *self = (ObjectReader *)object;
    Py_CLEAR(self->describe);
    Py_CLEAR(self->reference);
    forget_class(self);
    return 0;
}

static void
reader_dealloc(PyObject *object)
{
    ObjectReader *self = (ObjectReader *)object;
    PyObject_GC_UnTrack(object);
    forget_class(self);
    Py_XDECREF(self->describe);
    Py_XDECREF(self->reference);
    Py_XDECREF(self->unreadable);
    Py_TYPE(object)->tp_free(object);
}

static PyMethodDef reader_methods[] = {
    {"read", reader_read, METH_O, "Returns the object for a dict."},
    {"replace_each", reader_replace_each, METH_O, "Replaces the dicts of a list with objects. Returns how many."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject ObjectReaderType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "socialapi._speedups._native.ObjectReader",
    .tp_doc = "Reads objects of a class, using its plan.",
    .tp_basicsize = sizeof(ObjectReader),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = reader_new,
    .tp_dealloc = reader_dealloc,
    .tp_traverse = reader_traverse,
    .tp_clear = reader_clear,
    .tp_methods = reader_methods,
};

int
add_decode(PyObject *module)
{
    PyDateTime_IMPORT;
    if (PyDateTimeAPI == NULL) {
        return -1;
    }
    return PyModule_AddType(module, &ObjectReaderType);
}
