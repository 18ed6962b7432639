// Sorts the hook records of a trace by time. Each thread wrote its chunks by itself, so their records interleave.
#pragma once

#include "tracefile/trace_columns.hpp"

namespace eventide::tracefile {

// Stable: records of one time keep their order. Linear for records that are in order for each thread, times the
// logarithm of the number of threads.
void sort_by_time(HookColumns& hooks);

}  // namespace eventide::tracefile
