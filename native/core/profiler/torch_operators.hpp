// Records operators of torch as spans while they run, on all threads.
//
// torch has callbacks for the monitoring of a whole process, but no C interface to them. So they are called by their
// C++ names, which are looked up in the library that the program loaded, and one type has the layout that torch has
// used since 2022. Only the name of an operator is requested. Nothing is kept in the heap of the program, where torch's
// own profiler keeps all events until it is stopped: that fragments the heap of glibc, and a training that ran in 1 GB
// grew by 7 MB a step.
//
// An operator is linked to its gradient by its thread and its sequence number, for which torch has no function: the
// offset of the number in an operator is found with two operators whose numbers are known (calibration). Without it
// there are no edges.
#pragma once

#include <cstdint>

namespace eventide::torch {

// Scopes of torch's record functions, bit s for scope s.
struct Scopes {
    uint32_t operators = 0;
    uint32_t gradients = 0;
    uint32_t annotations = 0;
};

// Throws Error (device) if this torch cannot be traced like that. Does nothing if it is traced already.
void start_operators(const Scopes& scopes);
// Stops recording. Operators that run are still recorded when they end.
void stop_operators() noexcept;
// Another source records operators of muted threads in detail, from `true` to `false`; several may at a time.
void set_other_source(bool on) noexcept;
// This thread is muted from `true` to `false`, which is optional; calls nest.
void mute_operators(bool on) noexcept;
// Whether another source records operators of this thread.
bool operators_muted() noexcept;
// The other source records the operator of that name, which this muted thread has called, and calls it once more.
void operator_in_detail(const char* name) noexcept;
// What this muted thread calls from `true` to `false` belongs to the other source.
void hide_operators(bool on) noexcept;
// How many were recorded, in the life of the process.
uint64_t operators_recorded() noexcept;

// The next operator of this thread is kept and not recorded: the first (0) or the second (1) of two; 2: the next
// gradient.
void probe_operator(int which) noexcept;
// Whether an operator was kept; ends the probe.
bool operator_probed() noexcept;
// Their sequence numbers, on the thread of the gradient's operator. True: the offset of the number is
// known from now on.
bool calibrate_sequence_numbers(int64_t first, int64_t second, int64_t gradient) noexcept;

}  // namespace eventide::torch
