// Results of the engine as plain Python values. With the GIL, and without the engine's lock: making them may run code.
#pragma once

#include <nanobind/nanobind.h>

#include "sanitizer/engine.hpp"

namespace eventide::python {

nanobind::dict finding_to_dict(const sanitizer::Finding& finding);
nanobind::dict coverage_to_dict(const sanitizer::Coverage& coverage);

}  // namespace eventide::python
