#pragma once

namespace eventide::python {

// The child of a fork is not watched: its streams are gone, and no report would be made.
void live_sanitizer_after_fork_in_child();

}  // namespace eventide::python
