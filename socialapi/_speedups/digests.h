/* Columns of digests: 33 bytes per cell. A list of hexadecimal strings takes 121. */
#ifndef SOCIALAPI_DIGESTS_H
#define SOCIALAPI_DIGESTS_H

#include "native.h"
#include "sha256.h"

/* The states of a cell. An empty cell has no value; Python must decide an undecided cell. */
enum { CELL_EMPTY, CELL_DIGEST, CELL_UNDECIDED };

/* A sequence of `str | None`. Slices with step 1 may share the memory of the column, and then
 * keep the column alive. The bytes of a cell without a digest are zeros. */
typedef struct {
    PyObject_HEAD
    Py_ssize_t count;
    uint8_t *digests; /* DIGEST_BYTES for each cell */
    uint8_t *states;  /* one for each cell: CELL_EMPTY and so on */
    PyObject *owner;  /* the Digests that owns the memory; NULL for this one */
} Digests;

extern PyTypeObject Digests_Type;

/* Registers the type as a `collections.abc.Sequence`, all of whose methods it has. Returns 0, or
 * -1 with an exception set. */
int register_sequence(PyTypeObject *type);

static inline int
Digests_Check(PyObject *object)
{
    return Py_IS_TYPE(object, &Digests_Type);
}

static inline const uint8_t *
digest_at(const Digests *column, Py_ssize_t index)
{
    return column->digests + index * DIGEST_BYTES;
}

/* Returns a new column of empty cells, or NULL with an exception set. */
Digests *Digests_New(Py_ssize_t count);

/* A slice with less than this fraction (1 / COPIED_BELOW) of the cells is copied, because it
 * would keep much more memory alive than it needs. */
#define COPIED_BELOW 4

static inline int
is_small_part(Py_ssize_t count, Py_ssize_t whole)
{
    return count < whole / COPIED_BELOW;
}

/* Returns the cells of a range of rows within the column, or NULL with an exception set. */
Digests *Digests_Part(Digests *column, Py_ssize_t start, Py_ssize_t count);

#endif
