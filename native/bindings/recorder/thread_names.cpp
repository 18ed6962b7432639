#include "bindings/recorder/thread_names.hpp"

#include "bindings/base/bind.hpp"
#include "bindings/base/utf8.hpp"

namespace eventide::python {

std::string python_thread_name(unsigned long ident) {
    PyObject* modules = PyImport_GetModuleDict();
    PyObject* threading = modules ? PyDict_GetItemString(modules, "threading") : nullptr;
    PyObject* active = threading ? PyDict_GetItemString(PyModule_GetDict(threading), "_active") : nullptr;
    PyObject* key = PyLong_FromUnsignedLong(ident);
    PyObject* found = active && key && PyDict_Check(active) ? PyDict_GetItem(active, key) : nullptr;
    PyObject** members = found ? _PyObject_GetDictPtr(found) : nullptr;
    PyObject* name = members && *members ? PyDict_GetItemString(*members, "_name") : nullptr;
    std::string out = name && PyUnicode_Check(name) ? utf8(name) : "";
    Py_XDECREF(key);
    PyErr_Clear();
    return out;
}

}  // namespace eventide::python
