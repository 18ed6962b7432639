// The list of all streams of the process: for device-wide synchronization, exit and fork.
#pragma once

#include <vector>

#include "base/ref.hpp"
#include "runtime/stream.hpp"

namespace eventide::streams {

void add(Stream& stream);
void remove(Stream& stream) noexcept;  // by the stream's destructor
std::vector<Ref<Stream>> all();        // in order of id
void after_fork_in_child();

}  // namespace eventide::streams
