#pragma once

namespace eventide::python {

// Searches the exceptions that the program was given for those that only their own cycles keep, and breaks these.
void search_failure_cycles();

}  // namespace eventide::python
