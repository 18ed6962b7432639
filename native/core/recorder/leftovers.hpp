// Buffers in shared memory that processes left when they were killed.
#pragma once

namespace eventide::recorder {

// Removes those that nobody can read any more: their process is dead, and their trace file is gone or is another
// recording's by now. What belongs to a trace that is still there stays until somebody opens it, which saves it.
void remove_leftovers() noexcept;

}  // namespace eventide::recorder
