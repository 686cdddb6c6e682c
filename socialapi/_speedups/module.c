/* The module `socialapi._speedups._native`: what the other files of this folder add to it.
 *
 * reference.py has the same names, and is the specification. What a function here does not take as it
 * is, it leaves to its caller; it never guesses.
 */
#include "native.h"

#define INTERFACE 9 /* that of __init__.py */

static int
fill_module(PyObject *module)
{
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) { /* the types are those of the process */
        PyErr_SetString(PyExc_ImportError, "it works in the main interpreter only");
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
    .m_doc = "The loops over rows and posts that are worth their C.",
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
