// Python's stack for core/stacks.hpp.
#pragma once

#include "python.hpp"

namespace eventide::python {

void install_stack_capture();

// The stack of any thread, with the GIL; 0: it runs no Python just now.
uint32_t capture_stack_of(PyThreadState* thread);

}  // namespace eventide::python
