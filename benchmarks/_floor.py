"""An empty context manager in C: what `with` costs when nothing is done, the floor under every span."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
import tempfile
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

SOURCE = r"""
#define PY_SSIZE_T_CLEAN
#include <Python.h>

typedef struct { PyObject_HEAD } Floor;
static PyObject* enter(PyObject* self, PyObject* none) { (void)none; Py_INCREF(self); return self; }
static PyObject* leave(PyObject* self, PyObject* const* args, Py_ssize_t n) {
    (void)self, (void)args, (void)n;
    Py_RETURN_NONE;
}
static PyMethodDef methods[] = {
    {"__enter__", enter, METH_NOARGS, 0},
    {"__exit__", (PyCFunction)(void (*)(void))leave, METH_FASTCALL, 0},
    {0}};
static PyTypeObject type = {PyVarObject_HEAD_INIT(0, 0)};
static PyObject* make(PyObject* t, PyObject* const* args, size_t n, PyObject* names) {
    (void)args, (void)n, (void)names;
    return PyType_GenericAlloc((PyTypeObject*)t, 0);
}
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "eventide_floor", 0, -1, 0};
PyMODINIT_FUNC PyInit_eventide_floor(void) {
    type.tp_name = "Floor";
    type.tp_basicsize = sizeof(Floor);
    type.tp_flags = Py_TPFLAGS_DEFAULT;
    type.tp_methods = methods;
    type.tp_new = PyType_GenericNew;
    type.tp_vectorcall = make;
    if (PyType_Ready(&type) < 0) return 0;
    PyObject* m = PyModule_Create(&module);
    if (m) PyModule_AddObject(m, "Floor", (PyObject*)&type);
    return m;
}
"""


def load() -> ModuleType:
    """The compiled module, with the class `Floor`."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("no C compiler here")
    folder = Path(tempfile.mkdtemp(prefix="eventide-floor-"))
    try:
        source, target = folder / "floor.c", folder / "eventide_floor.so"
        source.write_text(SOURCE, "utf-8")
        include = sysconfig.get_paths()["include"]
        command = [compiler, "-O3", "-shared", "-fPIC", "-I", include, str(source), "-o", str(target)]
        subprocess.run(command, check=True, capture_output=True)
        loader = ExtensionFileLoader("eventide_floor", str(target))
        spec = spec_from_loader("eventide_floor", loader)
        assert spec is not None
        module = module_from_spec(spec)
        loader.exec_module(module)
        return module
    finally:
        shutil.rmtree(folder)
