// Operators of torch become spans of the recording while they run, on whatever thread.
//
// torch has callbacks for that, meant for monitoring a whole process, and no C interface to them. So they are called by
// their C++ names, which are looked up in the library that the program loaded, and one type is laid out as torch has
// had it since 2022. What torch is asked for is an operator's name. Nothing is kept in the program's heap, where
// torch's own profiler keeps all that it hears until it is stopped: with glibc, whose holes are then too small for the
// tensors that left them, a training that ran in 1 GB grew by 7 MB a step.
//
// An operator is tied to its gradient by its thread and its sequence number, for which torch has no function: where
// the number stands in an operator is learnt by looking at two whose numbers are known. What was not learnt makes no
// edges.
#pragma once

#include <cstdint>

namespace eventide::torch {

// Scopes of torch's record functions, bit s for scope s.
struct Scopes {
    uint32_t operators = 0;
    uint32_t gradients = 0;
    uint32_t annotations = 0;
};

// Throws Error: device, if this torch cannot be heard like that. Once; does nothing when they are heard already.
void hear_operators(const Scopes& scopes);
// No more of them. Those that run are still told when they end.
void leave_operators() noexcept;
// Somebody else tells those of muted threads: from `true` to `false`, any number of them at a time.
void tell_muted_operators(bool on) noexcept;
// This thread is muted: from `true` to `false`, which may never come, any number of times.
void mute_operators(bool on) noexcept;
// Whether somebody else tells those of this thread.
bool operators_muted() noexcept;
// How many were told, in the life of the process.
uint64_t operators_heard() noexcept;

// The next operator of this thread is kept and not recorded: the first (0) or the second (1) of two; 2: the next
// gradient.
void look_at_operator(int which) noexcept;
// Whether it came; if not, it is no longer waited for.
bool operator_looked_at() noexcept;
// Their sequence numbers, on the thread of the gradient's operator. True: from now on the place of such a number is
// known.
bool learn_sequence_numbers(int64_t first, int64_t second, int64_t gradient) noexcept;

}  // namespace eventide::torch
