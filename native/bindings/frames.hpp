// Python's stack for core/stacks.hpp.
#pragma once

#include "python.hpp"

namespace eventide::python {

void install_stack_capture();

}  // namespace eventide::python
