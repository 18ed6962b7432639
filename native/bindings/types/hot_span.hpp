// Spans, instants and counters of Python, on the plain C API.
#pragma once

#include "bindings/base/python.hpp"

namespace eventide::python {

PyTypeObject* make_span_type();
extern PyMethodDef span_functions[];  // instant, counter

// How to decorate a function with a span, and how to put a value that is no number and no text into JSON.
void set_span_helpers(PyObject* decorate, PyObject* describe);
// Every span that is entered from now on is entered there as well: make(name) is a context manager. None: no more.
void set_span_annotator(PyObject* make);

}  // namespace eventide::python
