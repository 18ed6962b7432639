// Names and arguments of spans as the recorder stores them.
#pragma once

#include "bindings/base/python.hpp"
#include "recorder/payload_records.hpp"

namespace eventide::python {

// The number of a name in the running recording; 0 if that has ended. Cheap for a name object that was here before.
uint32_t name_number(PyObject* name, uint32_t generation);

// Writes them one after the other; true: some had to be cut. May run Python code: no Put may be open.
bool add_arguments(ByteWriter& out, PyObject* names, PyObject* const* values, uint32_t generation);

void set_describer(PyObject* describe);

}  // namespace eventide::python
