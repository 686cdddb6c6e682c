/* The type `IdentifierTable`: the last placement of each identifier of a kind.
 *
 * Methods first read identifiers in chunks, which may run Python code. They then change the table
 * without running Python code until it is consistent again.
 */
#include "identifiers.h"

#include <string.h>

#define CHUNK 64 /* the number of cells whose slots are prefetched */
#define NO_NUMBER UINT32_MAX
#define NOT_LISTED (UINT32_MAX - 1)

/* A placement, to which entries refer by its number. */
typedef struct {
    PyObject *object; /* NULL for a number that can be reused */
    uint32_t uses;    /* the number of entries with this number */
    uint32_t next;    /* the next number in the same list; NOT_LISTED if it is in none */
} Placement;

typedef struct {
    PyObject_HEAD
    Map map;
    Placement *placements;
    uint32_t placement_count;
    uint32_t placement_room;
    uint32_t latest; /* the last number used, which is usually needed again */
    uint32_t unused; /* the first number that may have a placement, but no entry */
    uint32_t free;   /* the first number without a placement */
} IdentifierTable;

static PyTypeObject IdentifierTable_Type;

/* Placements ---------------------------------------------------------------------------------- */

static void
push(IdentifierTable *self, uint32_t *first, uint32_t number)
{
    self->placements[number].next = *first;
    *first = number;
}

static uint32_t
pop(IdentifierTable *self, uint32_t *first)
{
    uint32_t number = *first;
    *first = self->placements[number].next;
    self->placements[number].next = NOT_LISTED;
    return number;
}

static void
push_unused(IdentifierTable *self, uint32_t number)
{
    if (self->placements[number].next == NOT_LISTED) {
        push(self, &self->unused, number);
    }
}

/* Returns 0, or -1 with an exception set. */
static int
add_free_number(IdentifierTable *self)
{
    if (self->placement_count == self->placement_room) {
        size_t room = self->placement_room ? 2 * (size_t)self->placement_room : 8;
        Placement *moved = room <= MAX_NUMBER ? PyMem_Realloc(self->placements, room * sizeof *moved) : NULL;
        if (moved == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        self->placements = moved;
        self->placement_room = (uint32_t)room;
    }
    self->placements[self->placement_count].object = NULL;
    push(self, &self->free, self->placement_count++);
    return 0;
}

/* Returns a number of the placement, which may have several, or NO_NUMBER with an exception set.
 * Assign it to an entry before any other change of the table. */
static uint32_t
number_of(IdentifierTable *self, PyObject *object)
{
    if (self->latest != NO_NUMBER && self->placements[self->latest].object == object) {
        return self->latest;
    }
    if (self->free == NO_NUMBER && add_free_number(self) < 0) {
        return NO_NUMBER;
    }
    uint32_t number = pop(self, &self->free);
    self->placements[number].object = Py_NewRef(object);
    self->placements[number].uses = 0;
    push_unused(self, number);
    self->latest = number;
    return number;
}

static void
set_number(IdentifierTable *self, Entry *entry, int is_new, uint32_t number)
{
    uint32_t before = entry->number;
    self->placements[number].uses++;
    entry->number = number;
    if (!is_new && --self->placements[before].uses == 0) {
        push_unused(self, before);
    }
}

/* Releases placements without entries. Comes last, because it may run Python code. */
static void
release_unused(IdentifierTable *self)
{
    while (self->unused != NO_NUMBER) {
        uint32_t number = pop(self, &self->unused);
        if (self->placements[number].uses > 0) {
            continue; /* it has an entry again */
        }
        PyObject *object = self->placements[number].object;
        self->placements[number].object = NULL;
        push(self, &self->free, number);
        Py_DECREF(object);
    }
}

static PyObject *
placement_of(const IdentifierTable *self, const Entry *entry)
{
    return self->placements[entry->number].object;
}

/* Reading cells ------------------------------------------------------------------------------- */

/* Columns that are read row by row. */
typedef struct {
    Column *columns;
    Py_ssize_t count;
    Py_ssize_t rows;
    Py_ssize_t row;    /* the row of the next cell */
    Py_ssize_t column; /* the column of the next cell */
} Reader;

static void
reader_close(Reader *reader)
{
    for (Py_ssize_t at = 0; at < reader->count; at++) {
        column_close(&reader->columns[at]);
    }
    PyMem_Free(reader->columns);
}

/* Opens columns of the same length. Returns 0, or -1 with an exception set. */
static int
reader_open(Reader *reader, PyObject *const *columns, Py_ssize_t count)
{
    memset(reader, 0, sizeof *reader);
    reader->columns = PyMem_Calloc(count > 0 ? (size_t)count : 1, sizeof *reader->columns);
    if (reader->columns == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    while (reader->count < count) {
        Column *column = &reader->columns[reader->count];
        if (column_open(column, columns[reader->count]) < 0) {
            reader_close(reader);
            return -1;
        }
        reader->count++;
        Py_ssize_t rows = column_length(column);
        if (reader->count > 1 && rows != reader->rows) {
            PyErr_SetString(PyExc_ValueError, "columns have different lengths");
            reader_close(reader);
            return -1;
        }
        reader->rows = rows;
    }
    return 0;
}

/* The keys that were read from a chunk of cells, without empty ones. */
typedef struct {
    Key keys[CHUNK];
    Py_ssize_t rows[CHUNK];
    int count;
} Chunk;

/* Reads the next cells. Returns 1, 0 at the end, or -1 with an exception set. */
static int
read_chunk(Reader *reader, Chunk *chunk)
{
    chunk->count = 0;
    while (chunk->count < CHUNK && reader->row < reader->rows) {
        Key *key = &chunk->keys[chunk->count];
        if (key_of_cell(&reader->columns[reader->column], reader->row, key) < 0) {
            return -1;
        }
        chunk->rows[chunk->count] = reader->row;
        chunk->count += key->form != KEY_NONE;
        if (++reader->column == reader->count) {
            reader->column = 0;
            reader->row++;
        }
    }
    return chunk->count > 0;
}

static void
prefetch_chunk(const Map *map, const Chunk *chunk)
{
    for (int at = 0; at < chunk->count; at++) {
        map_prefetch(map, &chunk->keys[at]);
    }
}

/* Putting and getting ------------------------------------------------------------------------- */

/* Returns 0, or -1 with an exception set. Runs no Python. */
static int
put_key(IdentifierTable *self, const Key *key, PyObject *placement)
{
    if (map_reserve(&self->map, 1) < 0) {
        return -1;
    }
    uint32_t number = number_of(self, placement);
    if (number == NO_NUMBER) {
        return -1;
    }
    int is_new;
    Entry *entry = map_find_or_add(&self->map, key, &is_new);
    set_number(self, entry, is_new, number);
    return 0;
}

static int
put_chunk(IdentifierTable *self, const Chunk *chunk, PyObject *placement)
{
    if (map_reserve(&self->map, (size_t)chunk->count) < 0) {
        return -1;
    }
    prefetch_chunk(&self->map, chunk);
    for (int at = 0; at < chunk->count; at++) {
        if (put_key(self, &chunk->keys[at], placement) < 0) {
            return -1;
        }
    }
    return 0;
}

PyDoc_STRVAR(table_put_doc, "Sets the placement of an identifier. Ignores an empty string.");

static PyObject *
table_put(IdentifierTable *self, PyObject *arguments)
{
    PyObject *identifier, *placement;
    if (!PyArg_ParseTuple(arguments, "OO:put", &identifier, &placement)) {
        return NULL;
    }
    Key key;
    if (key_of_text(identifier, &key) < 0) {
        return NULL;
    }
    int status = key.form == KEY_NONE ? 0 : put_key(self, &key, placement);
    release_unused(self);
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

PyDoc_STRVAR(table_put_column_doc, "Sets the placement of every identifier of a column. If a cell is not a string, earlier cells may\n"
             "already be set.");

static PyObject *
table_put_column(IdentifierTable *self, PyObject *arguments)
{
    PyObject *column, *placement;
    if (!PyArg_ParseTuple(arguments, "OO:put_column", &column, &placement)) {
        return NULL;
    }
    Reader reader;
    if (reader_open(&reader, &column, 1) < 0) {
        return NULL;
    }
    Chunk chunk;
    int status;
    while ((status = read_chunk(&reader, &chunk)) > 0) {
        if (put_chunk(self, &chunk, placement) < 0) {
            status = -1;
            break;
        }
    }
    reader_close(&reader);
    release_unused(self);
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

PyDoc_STRVAR(table_get_doc, "Returns the placement of an identifier, or None.");

static PyObject *
table_get(IdentifierTable *self, PyObject *text)
{
    Key key;
    if (key_of_text(text, &key) < 0) {
        return NULL;
    }
    Entry *entry = key.form == KEY_NONE ? NULL : map_find(&self->map, &key);
    return Py_NewRef(entry != NULL ? placement_of(self, entry) : Py_None);
}

/* Returns 0, or -1 with an exception set. Runs no Python. */
static int
get_chunk(const IdentifierTable *self, const Chunk *chunk, PyObject *found)
{
    prefetch_chunk(&self->map, chunk);
    for (int at = 0; at < chunk->count; at++) {
        const Entry *entry = map_find(&self->map, &chunk->keys[at]);
        if (entry != NULL && PyList_SetItem(found, chunk->rows[at], Py_NewRef(placement_of(self, entry))) < 0) {
            return -1;
        }
    }
    return 0;
}

PyDoc_STRVAR(table_get_column_doc, "Returns the placement of each identifier of a column; None for unknown ones.");

static PyObject *
table_get_column(IdentifierTable *self, PyObject *column)
{
    Reader reader;
    if (reader_open(&reader, &column, 1) < 0) {
        return NULL;
    }
    PyObject *found = PyList_New(reader.rows);
    for (Py_ssize_t row = 0; found != NULL && row < reader.rows; row++) {
        PyList_SET_ITEM(found, row, Py_NewRef(Py_None));
    }
    Chunk chunk;
    int status = found == NULL ? -1 : 0;
    while (status == 0 && (status = read_chunk(&reader, &chunk)) > 0) {
        status = get_chunk(self, &chunk, found);
    }
    reader_close(&reader);
    if (status < 0) {
        Py_CLEAR(found);
    }
    return found;
}

/* Repeated identifiers ------------------------------------------------------------------------ */

/* Searches for identifiers that are in one of the tables or in an earlier row. */
typedef struct {
    PyObject *tables; /* a tuple */
    Map seen;
    PyObject *rows; /* a list of the indexes found, ascending */
    Py_ssize_t last; /* the last of these indexes */
} Search;

static const Map *
map_of(const Search *search, Py_ssize_t at)
{
    return &((IdentifierTable *)PyTuple_GET_ITEM(search->tables, at))->map;
}

static int
is_known(Search *search, const Key *key)
{
    int is_new;
    map_find_or_add(&search->seen, key, &is_new);
    for (Py_ssize_t at = 0; is_new && at < PyTuple_GET_SIZE(search->tables); at++) {
        is_new = map_find(map_of(search, at), key) == NULL;
    }
    return !is_new;
}

/* Returns 0, or -1 with an exception set. */
static int
add_row(Search *search, Py_ssize_t row)
{
    if (row == search->last) {
        return 0;
    }
    search->last = row;
    return append_index(search->rows, row);
}

static int
search_chunk(Search *search, const Chunk *chunk)
{
    if (map_reserve(&search->seen, (size_t)chunk->count) < 0) {
        return -1;
    }
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(search->tables); at++) {
        prefetch_chunk(map_of(search, at), chunk);
    }
    for (int at = 0; at < chunk->count; at++) {
        if (is_known(search, &chunk->keys[at]) && add_row(search, chunk->rows[at]) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Returns the indexes of the rows found, or NULL with an exception set. */
static PyObject *
search_rows(PyObject *tables, Reader *reader)
{
    Search search = {.tables = tables, .rows = PyList_New(0), .last = -1};
    if (search.rows == NULL) {
        return NULL;
    }
    Chunk chunk;
    int status;
    while ((status = read_chunk(reader, &chunk)) > 0) {
        if (search_chunk(&search, &chunk) < 0) {
            status = -1;
            break;
        }
    }
    map_free(&search.seen);
    if (status < 0) {
        Py_CLEAR(search.rows);
    }
    return search.rows;
}

/* Returns a tuple of this table and others, or NULL with an exception set. */
static PyObject *
with_others(IdentifierTable *self, PyObject *others)
{
    Py_ssize_t count = PyTuple_GET_SIZE(others);
    PyObject *tables = PyTuple_New(count + 1);
    if (tables == NULL) {
        return NULL;
    }
    PyTuple_SET_ITEM(tables, 0, Py_NewRef(self));
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *other = PyTuple_GET_ITEM(others, at);
        if (!Py_IS_TYPE(other, &IdentifierTable_Type)) {
            PyErr_SetString(PyExc_TypeError, "the others must be IdentifierTables");
            Py_DECREF(tables);
            return NULL;
        }
        PyTuple_SET_ITEM(tables, at + 1, Py_NewRef(other));
    }
    return tables;
}

PyDoc_STRVAR(table_repeated_doc,
             "Returns the indexes of rows with an identifier that is in this table, in one of the other tables,\n"
             "or in an earlier row. All columns and tables have the same kind.");

static PyObject *
table_repeated(IdentifierTable *self, PyObject *arguments)
{
    PyObject *columns, *others;
    if (!PyArg_ParseTuple(arguments, "O!O!:repeated", &PyTuple_Type, &columns, &PyTuple_Type, &others)) {
        return NULL;
    }
    PyObject *tables = with_others(self, others);
    if (tables == NULL) {
        return NULL;
    }
    PyObject *rows = NULL;
    Reader reader;
    if (reader_open(&reader, PySequence_Fast_ITEMS(columns), PyTuple_GET_SIZE(columns)) == 0) {
        rows = search_rows(tables, &reader);
        reader_close(&reader);
    }
    Py_DECREF(tables);
    return rows;
}

/* All of a table ------------------------------------------------------------------------------ */

static Py_ssize_t
table_length(IdentifierTable *self)
{
    return self->map.count;
}

PyDoc_STRVAR(table_placements_doc, "Returns the set of all placements.");

static PyObject *
table_placements(IdentifierTable *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *found = PySet_New(NULL);
    for (uint32_t number = 0; found != NULL && number < self->placement_count; number++) {
        PyObject *object = Py_XNewRef(self->placements[number].object);
        if (object != NULL && PySet_Add(found, object) < 0) {
            Py_CLEAR(found);
        }
        Py_XDECREF(object);
    }
    return found;
}

/* Returns an array that shows for each number whether its placement is in the set, or NULL with
 * an exception set. The array has `*count` elements even if a comparison changes the table. */
static char *
is_in_set(IdentifierTable *self, PyObject *set, uint32_t *count)
{
    *count = self->placement_count;
    char *found = PyMem_Calloc((size_t)*count + 1, 1);
    if (found == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (uint32_t number = 0; number < *count && number < self->placement_count; number++) {
        PyObject *object = Py_XNewRef(self->placements[number].object);
        int is_in = object != NULL ? PySet_Contains(set, object) : 0;
        Py_XDECREF(object);
        if (is_in < 0) {
            PyMem_Free(found);
            return NULL;
        }
        found[number] = (char)is_in;
    }
    return found;
}

PyDoc_STRVAR(table_take_over_doc, "Adds the identifiers of another table that have one of these placements, a set.");

static PyObject *
table_take_over(IdentifierTable *self, PyObject *arguments)
{
    IdentifierTable *other;
    PyObject *placements;
    if (!PyArg_ParseTuple(arguments, "O!O!:take_over", &IdentifierTable_Type, &other, &PySet_Type, &placements)) {
        return NULL;
    }
    uint32_t count;
    char *is_taken = is_in_set(other, placements, &count);
    if (is_taken == NULL) {
        return NULL;
    }
    int status = 0;
    for (uint32_t place = 0; status == 0 && self != other && place < other->map.count; place++) {
        const Entry *entry = entry_at(&other->map, place);
        if (entry->number < count && is_taken[entry->number]) {
            Key key = key_of_entry(entry);
            status = put_key(self, &key, placement_of(other, entry));
        }
    }
    PyMem_Free(is_taken);
    release_unused(self);
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

PyDoc_STRVAR(table_sizeof_doc, "Returns the size of the table in bytes.");

static PyObject *
table_sizeof(IdentifierTable *self, PyObject *Py_UNUSED(ignored))
{
    size_t size = sizeof *self + map_size(&self->map) + self->placement_room * sizeof *self->placements;
    return PyLong_FromSize_t(size);
}

/* The type ------------------------------------------------------------------------------------ */

static PyObject *
table_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, ":IdentifierTable", names)) {
        return NULL;
    }
    IdentifierTable *self = (IdentifierTable *)type->tp_alloc(type, 0); /* all zeros */
    if (self != NULL) {
        self->latest = self->unused = self->free = NO_NUMBER;
    }
    return (PyObject *)self;
}

static int
table_traverse(IdentifierTable *self, visitproc visit, void *arg)
{
    for (uint32_t number = 0; number < self->placement_count; number++) {
        Py_VISIT(self->placements[number].object);
    }
    return 0;
}

/* Empties the table before it releases the placements, which may run Python code. */
static int
table_clear(IdentifierTable *self)
{
    Placement *placements = self->placements;
    uint32_t count = self->placement_count;
    map_free(&self->map);
    self->placements = NULL;
    self->placement_count = self->placement_room = 0;
    self->latest = self->unused = self->free = NO_NUMBER;
    for (uint32_t number = 0; number < count; number++) {
        Py_XDECREF(placements[number].object);
    }
    PyMem_Free(placements);
    return 0;
}

static void
table_dealloc(IdentifierTable *self)
{
    PyObject_GC_UnTrack(self);
    table_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef table_methods[] = {
    {"get", (PyCFunction)table_get, METH_O, table_get_doc},
    {"put", (PyCFunction)table_put, METH_VARARGS, table_put_doc},
    {"put_column", (PyCFunction)table_put_column, METH_VARARGS, table_put_column_doc},
    {"get_column", (PyCFunction)table_get_column, METH_O, table_get_column_doc},
    {"repeated", (PyCFunction)table_repeated, METH_VARARGS, table_repeated_doc},
    {"placements", (PyCFunction)table_placements, METH_NOARGS, table_placements_doc},
    {"take_over", (PyCFunction)table_take_over, METH_VARARGS, table_take_over_doc},
    {"__sizeof__", (PyCFunction)table_sizeof, METH_NOARGS, table_sizeof_doc},
    {NULL, NULL, 0, NULL},
};

static PySequenceMethods table_as_sequence = {
    .sq_length = (lenfunc)table_length,
};

PyDoc_STRVAR(table_doc, "Maps the identifiers of a kind to their last placements.");

static PyTypeObject IdentifierTable_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "socialapi._speedups._native.IdentifierTable",
    .tp_doc = table_doc,
    .tp_basicsize = sizeof(IdentifierTable),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = table_new,
    .tp_traverse = (traverseproc)table_traverse,
    .tp_clear = (inquiry)table_clear,
    .tp_dealloc = (destructor)table_dealloc,
    .tp_methods = table_methods,
    .tp_as_sequence = &table_as_sequence,
};

PyDoc_STRVAR(identifier_hash_doc,
"identifier_hash(identifier)\n\n"
"Returns the hash with which tables look up an identifier; for the tests.");

static PyObject *
identifier_hash(PyObject *Py_UNUSED(module), PyObject *identifier)
{
    Key key;
    if (key_of_text(identifier, &key) < 0) {
        return NULL;
    }
    return PyLong_FromUnsignedLong(key.hash);
}

static PyMethodDef functions[] = {
    {"identifier_hash", identifier_hash, METH_O, identifier_hash_doc},
    {NULL, NULL, 0, NULL},
};

int
add_recent(PyObject *module)
{
    if (draw_hash_secret() < 0 || find_text_digest() < 0 || PyModule_AddFunctions(module, functions) < 0) {
        return -1;
    }
    return PyModule_AddType(module, &IdentifierTable_Type);
}
