// The table behind eventide/profiler.h: what a backend reports becomes spans, instants and counters of the recording.
//
//   on of the table     atomic; counts of profiles are kept by the bindings, under the GIL
//   counts              atomic
#pragma once

#include <cstdint>
#include <string_view>

namespace eventide::profiler {

// Sets what running profiles need: EVENTIDE_PROFILER_EVENTS, EVENTIDE_PROFILER_MEMORY, and foreign_clocks: events are
// kept with the times of the backend's clock, at the time of the report, and mapped when the trace is read.
inline constexpr uint32_t foreign_clocks = 4;
void request(uint32_t what) noexcept;
// A recording that is not of a profile runs, or no longer: it takes events and memory. Callers serialize request() and
// record().
void record(bool runs) noexcept;

// Fills the slots of the objects that were loaded before us; returns how many it found empty.
int connect_loaded();
// Lets the objects that are loaded after us find the table by its name.
void publish_table() noexcept;

// Times in microseconds, monotonic or Unix time. False: the end is before the start, or the time is too far away to be
// one.
bool backend_event(int64_t start_us, int64_t end_us, int64_t debug_handle, std::string_view name,
                   std::string_view backend);
// at_ns: when; 0 is now.
void backend_memory_event(uint64_t address, int64_t alloc_size, uint64_t total_allocated, uint64_t total_reserved,
                          std::string_view device, int64_t at_ns = 0);
void backend_clock(std::string_view backend, int64_t before_us, int64_t backend_us, int64_t after_us);

// Events from C with invalid times, since the process began.
uint64_t refused() noexcept;

}  // namespace eventide::profiler
