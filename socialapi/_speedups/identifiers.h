/* Keys of identifiers, one by one and from columns. */
#ifndef SOCIALAPI_IDENTIFIERS_H
#define SOCIALAPI_IDENTIFIERS_H

#include "digests.h"
#include "identifier_map.h"

/* A column that is being read: `digests`, or else the texts of a list or tuple. */
typedef struct {
    const Digests *digests;
    PyObject *texts;
    PyObject *owner; /* keeps what is read */
} Column;

/* Prepares for a first call of `key_of_text`. Returns 0, or -1 with an exception set. */
int find_text_digest(void);

/* Makes the key of a text, which is of the form KEY_NONE if that is empty. Returns 0, or -1 with an
 * exception set. May call Python. */
int key_of_text(PyObject *text, Key *key);

/* Opens a column. Returns 0, or -1 with an exception set. */
int column_open(Column *column, PyObject *values);

void column_close(Column *column);

Py_ssize_t column_length(const Column *column);

/* As `key_of_text`, for a cell. A cell that is gone, since a list can be made shorter while it is
 * read, has no identifier. */
int key_of_cell(const Column *column, Py_ssize_t index, Key *key);

#endif
