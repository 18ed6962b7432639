// What the parts of the core do after a fork and before the process exits.
#pragma once

#include <cstdint>

namespace eventide::process {

// In the child: discards every stream, waiter and thread of the parent (they are leaked, their threads do not exist).
void after_fork_in_child();

// Waits until every stream is drained and the notifier is idle, or until the timeout; then sets `abandoned`. Returns
// the number of work items that are not complete. The caller must not hold the host lock.
uint64_t shut_down(int64_t timeout_ns);

}  // namespace eventide::process
