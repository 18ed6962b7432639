// Buffers in shared memory of processes that were killed.
#pragma once

namespace eventide::recorder {

// Removes those that can no longer be recovered: their process is dead, and their trace file is missing or belongs to
// another recording. The buffer of an existing trace stays until the trace is recovered.
void remove_stale_buffers() noexcept;

}  // namespace eventide::recorder
