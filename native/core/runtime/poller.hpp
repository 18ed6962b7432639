// The threads that poll markers that have callbacks: often at first, then at growing intervals. One for each polled
// device type, started with its first callback, so that a `poll` that hangs delays its own type alone.
#pragma once

#include "base/ref.hpp"
#include "runtime/marker.hpp"

namespace eventide::poller {

// Polls until the marker has ended; its callbacks run then.
void watch(Ref<Marker> marker);

// The thread of a device type that was removed ends once its last marker has.
void type_removed(int16_t type);

void after_fork_in_child();

}  // namespace eventide::poller
