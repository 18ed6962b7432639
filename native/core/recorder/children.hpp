// Child processes of a recorded program: each is a span of the track "child processes", from its start to its end.
//
// A thread waits for their pidfds, so the end is exact whenever the program reaps the child, and it never reaps one
// itself. Who reaps a child first gets its exit code: the thread, without reaping, or the program, which reports it.
//
//   children   guarded by the mutex of the state; a forked child starts with a new state
#pragma once

#include <cstdint>
#include <string>

namespace eventide::recorder {

// The child has started. `about`: a JSON object without braces, the first arguments of its span.
void child_started(int pid, int64_t start_ns, std::string name, std::string about);
// The program has reaped it. code: its exit code; negative: the signal that killed it.
void child_reaped(int pid, int code);
// The recording ends: records those that still run.
void end_children();

}  // namespace eventide::recorder
