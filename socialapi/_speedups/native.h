/* Declarations that the files of the extension share. */
#ifndef SOCIALAPI_NATIVE_H
#define SOCIALAPI_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Add functions and types to the module. Return 0, or -1 with an exception set. */
int add_digests(PyObject *module);
int add_users(PyObject *module);
int add_columns(PyObject *module);
int add_recent(PyObject *module);
int add_decode(PyObject *module);

/* Appends a number to a list. Returns 0, or -1 with an exception set. */
static inline int
append_index(PyObject *list, Py_ssize_t at)
{
    PyObject *index = PyLong_FromSsize_t(at);
    if (index == NULL) {
        return -1;
    }
    int status = PyList_Append(list, index);
    Py_DECREF(index);
    return status;
}

#endif
