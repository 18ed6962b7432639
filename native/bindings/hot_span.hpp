// Spans, instants and counters of Python, on the plain C API.
#pragma once

#include "python.hpp"

namespace eventide::python {

PyTypeObject* make_span_type();
extern PyMethodDef span_functions[];  // instant, counter

// How to decorate a function with a span, and how to put a value that is no number and no text into JSON.
void set_span_helpers(PyObject* decorate, PyObject* describe);

}  // namespace eventide::python
