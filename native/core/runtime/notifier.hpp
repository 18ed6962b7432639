// One thread that runs callbacks, with no lock of the core held; and one for each type of polled device, which closes its
// streams and opens its gates: a device that hangs there delays no callback. Each starts with its first task.
#pragma once

#include <cstdint>

namespace eventide {

// What such a thread runs once: a notify callback, a Future's callbacks, the release of a buffer, a call of a device.
class Task {
  public:
    virtual ~Task() = default;
    virtual void run() = 0;  // called once; the notifier deletes the task afterwards, with the host lock if it needs it
    virtual bool needs_host_lock() const { return true; }
    // The number of the device type whose thread runs it; negative: the thread of callbacks.
    virtual int16_t device_type() const { return -1; }
    Task* next = nullptr;  // owned by the list that contains the task
};

}  // namespace eventide

namespace eventide::notifier {

// Takes ownership of a list of tasks (linked by next, oldest first). Never blocks on a callback.
void post(Task* first);

// Runs `sweep` (with the host lock) after that time, unless `needed` returns false by then. For clean-up that another
// thread usually does first; a request for a later time than the pending one costs one atomic operation.
struct Sweeper {
    bool (*needed)();
    void (*sweep)();
};
void set_sweeper(Sweeper sweeper);
void request_sweep(int64_t after_ns = 5'000'000);

// Waits until everything posted so far has run; false at the timeout.
bool drain(int64_t timeout_ns);

// How many tasks these threads have run in this process.
uint64_t completed() noexcept;

// The thread of a removed device type ends when it has nothing to run.
void type_removed(int16_t type);

void after_fork_in_child();

}  // namespace eventide::notifier
