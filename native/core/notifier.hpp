// One thread that runs callbacks, with no lock of the core held. It starts with the first task.
#pragma once

#include <cstdint>

#include "task.hpp"

namespace eventide::notifier {

// Takes over a list of tasks (linked by next, oldest first). Never blocks on a callback.
void post(Task* first);

// Runs `sweep` (with the host lock) within some milliseconds, unless `needed` says by then that it is done. For
// clean-up that somebody else usually does first; asking again before it ran costs one load.
struct Sweeper {
    bool (*needed)();
    void (*sweep)();
};
void set_sweeper(Sweeper sweeper);
void request_sweep();

// Waits until everything posted so far has run; false when the time is up.
bool drain(int64_t timeout_ns);

// How many callbacks have run in this process.
uint64_t completed() noexcept;

void after_fork_in_child();

}  // namespace eventide::notifier
