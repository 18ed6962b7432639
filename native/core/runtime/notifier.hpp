// One thread that runs callbacks, with no lock of the core held. It starts with the first task.
#pragma once

#include <cstdint>

#include "runtime/task.hpp"

namespace eventide::notifier {

// Takes over a list of tasks (linked by next, oldest first). Never blocks on a callback.
void post(Task* first);

// Runs `sweep` (with the host lock) after that time, unless `needed` says by then that it is done. For clean-up that
// another thread usually does first; a request that is later than the one that waits costs one load.
struct Sweeper {
    bool (*needed)();
    void (*sweep)();
};
void set_sweeper(Sweeper sweeper);
void request_sweep(int64_t after_ns = 5'000'000);

// Waits until everything posted so far has run; false when the time is up.
bool drain(int64_t timeout_ns);

// How many callbacks have run in this process.
uint64_t completed() noexcept;

void after_fork_in_child();

}  // namespace eventide::notifier
