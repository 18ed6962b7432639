// What every part of the core does after a fork and before the process exits.
#pragma once

#include <cstdint>

namespace eventide::process {

// In the child: forget every stream, waiter and thread of the parent (they are leaked, their threads do not exist).
void after_fork_in_child();

// Waits until every stream is drained and the notifier is idle, or the time is up; then sets `abandoned`. Returns
// how many work items were left. The caller must not hold the host lock.
uint64_t shut_down(int64_t timeout_ns);

}  // namespace eventide::process
