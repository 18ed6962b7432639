// Names of threads in Python's `threading`, read without running Python code. The GIL is held; the exception that is
// set, if any, is kept by the caller.
#pragma once

#include <string>

namespace eventide::python {

// The name of the thread with this `Thread.ident`; "" if `threading` does not list it.
std::string python_thread_name(unsigned long ident);

}  // namespace eventide::python
