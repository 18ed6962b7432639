// Python's stack for base/stacks.hpp.
#pragma once

#include "bindings/base/python.hpp"

namespace eventide::python {

void install_stack_capture();

// The stack of any thread, with the GIL; 0: it runs no Python just now.
uint32_t capture_stack_of(PyThreadState* thread);

// Stacks leave out the frames of this code, and of no other that was hidden before.
void hide_code(PyObject* code);

// The outermost frame of the exception's traceback no longer refers (f_back) to the frame that called it, if that frame
// is `caller`; nullptr: any. Not while it runs. No traceback shows that link, but it holds all callers, with their
// local variables. With the GIL.
void cut_caller(PyObject* exception, PyFrameObject* caller);

}  // namespace eventide::python
