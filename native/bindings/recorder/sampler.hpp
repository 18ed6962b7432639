// Sampled Python stacks in the recording. Starting again replaces the sampler that runs.
#pragma once

#include <cstdint>

namespace eventide::python {

// Throws Error (device) if no thread can be started.
void start_sampler(int64_t period_ns);
// Returns at once; a sample that is under way is finished.
void stop_sampler() noexcept;

}  // namespace eventide::python
