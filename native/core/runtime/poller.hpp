// Devices that do not tell when a marker ends are asked: one thread looks after the markers that somebody wants to be
// told about, often at first and then less.
#pragma once

#include "base/ref.hpp"
#include "runtime/marker.hpp"

namespace eventide::poller {

// Asks until the marker has ended; its callbacks run then.
void watch(Ref<Marker> marker);

void after_fork_in_child();

}  // namespace eventide::poller
