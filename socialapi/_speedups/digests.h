/* Columns of digests: 33 bytes a cell, where a list of hexadecimal texts takes 121. */
#ifndef SOCIALAPI_DIGESTS_H
#define SOCIALAPI_DIGESTS_H

#include "native.h"
#include "sha256.h"

/* What a cell holds. An empty one has no value; an undecided one has to be looked at by Python. */
enum { CELL_EMPTY, CELL_DIGEST, CELL_UNDECIDED };

/* A sequence of `str | None`. Slices with step 1 may share the memory of the column that they were
 * cut from, and keep it alive then. The bytes of a cell without a digest are zeros. */
typedef struct {
    PyObject_HEAD
    Py_ssize_t count;
    uint8_t *digests; /* DIGEST_BYTES for each cell */
    uint8_t *states;  /* one for each cell: CELL_EMPTY and so on */
    PyObject *owner;  /* the Digests whose memory this is; NULL for its own */
} Digests;

extern PyTypeObject Digests_Type;

/* Makes objects of the type instances of `collections.abc.Sequence`, all of whose methods it has.
 * Returns 0, or -1 with an exception set. */
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

/* A part with fewer than one in so many cells of the memory that it is cut from is a copy: it would
 * keep far more alive than it has. */
#define COPIED_BELOW 4

static inline int
is_small_part(Py_ssize_t count, Py_ssize_t whole)
{
    return count < whole / COPIED_BELOW;
}

/* Returns the cells of some rows, all of which the column has, or NULL with an exception set. */
Digests *Digests_Part(Digests *column, Py_ssize_t start, Py_ssize_t count);

#endif
