/* The module `socialapi._speedups._native`, to which the other files of this folder add functions
 * and types.
 *
 * reference.py has the same names, and is the specification. A function here never guesses: it
 * leaves unusual values to its caller.
 */
#include "native.h"

#define INTERFACE 9 /* the same as in __init__.py */

static int
fill_module(PyObject *module)
{
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) { /* the types exist once per process */
        PyErr_SetString(PyExc_ImportError, "it only works in the main interpreter");
        return -1;
    }
    if (PyModule_AddIntConstant(module, "INTERFACE", INTERFACE) < 0) {
        return -1;
    }
    if (add_digests(module) < 0 || add_columns(module) < 0) {
        return -1;
    }
    if (add_users(module) < 0) {
        return -1;
    }
    if (add_recent(module) < 0 || add_decode(module) < 0) {
        return -1;
    }
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, fill_module},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "socialapi._speedups._native",
    .m_doc = "Fast loops over rows and objects.",
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
