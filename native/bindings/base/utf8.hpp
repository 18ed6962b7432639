// Text of Python as UTF-8 that every reader takes.
#pragma once

#include <string>

#include "bindings/base/exception.hpp"

namespace eventide::python {

// Never fails: lone surrogates come out as \udc80, and anything else than a str as "?". Keeps a pending exception.
inline std::string utf8(PyObject* text) {
    if (!text || !PyUnicode_Check(text)) return "?";
    const KeptException kept;
    std::string out;
    Py_ssize_t size;
    if (const char* plain = PyUnicode_AsUTF8AndSize(text, &size)) {
        out.assign(plain, size_t(size));
    } else {
        PyErr_Clear();
        PyObject* bytes = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
        if (bytes) out.assign(PyBytes_AS_STRING(bytes), size_t(PyBytes_GET_SIZE(bytes)));
        Py_XDECREF(bytes);
        PyErr_Clear();
    }
    return out;
}

}  // namespace eventide::python
