/* What the files of the extension share. */
#ifndef SOCIALAPI_NATIVE_H
#define SOCIALAPI_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Each adds its functions and types to the module. They return 0, or -1 with an exception set. */
int add_digests(PyObject *module);
int add_users(PyObject *module);
int add_columns(PyObject *module);
int add_recent(PyObject *module);
int add_decode(PyObject *module);

#endif
