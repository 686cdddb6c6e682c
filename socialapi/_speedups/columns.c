/* Columns of identifiers: checked, normalised and hashed. */
#include "native.h"
#include "sha256.h"

static PyObject *
sha256_implementation(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyUnicode_FromString(sha256_choose());
}

static PyMethodDef functions[] = {
    {"sha256_implementation", sha256_implementation, METH_NOARGS, "Returns the name of the SHA-256 in use."},
    {NULL, NULL, 0, NULL},
};

int
add_columns(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
