#pragma once

namespace eventide::python {

// The child of a fork is not sanitized: it has no streams, and no report would be made.
void live_sanitizer_after_fork_in_child();

}  // namespace eventide::python
