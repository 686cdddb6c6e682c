/* Creates the keys of single identifiers and of columns. */
#ifndef SOCIALAPI_IDENTIFIERS_H
#define SOCIALAPI_IDENTIFIERS_H

#include "digests.h"
#include "identifier_map.h"

/* A column that is being read: `digests`, or the strings of a list or tuple. */
typedef struct {
    const Digests *digests;
    PyObject *texts;
    PyObject *owner; /* keeps the values alive */
} Column;

/* Must be called before `key_of_text`. Returns 0, or -1 with an exception set. */
int find_text_digest(void);

/* Creates the key of a string, of the form KEY_NONE if it is empty. Returns 0, or -1 with an
 * exception set. May run Python code. */
int key_of_text(PyObject *text, Key *key);

/* Opens a column. Returns 0, or -1 with an exception set. */
int column_open(Column *column, PyObject *values);

void column_close(Column *column);

Py_ssize_t column_length(const Column *column);

/* Creates the key of a cell, like `key_of_text`. A missing cell has no identifier, because a
 * list may get shorter while it is read. */
int key_of_cell(const Column *column, Py_ssize_t index, Key *key);

#endif
