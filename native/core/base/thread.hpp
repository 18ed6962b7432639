// Threads of the core. They take no signals (those belong to the main thread), are never joined, and end by returning.
//
// A thread that asks for the GIL while the interpreter goes down is ended by pthread_exit, which unwinds its stack and
// aborts the process at any noexcept or catch (...) frame. The bindings park it before it unwinds the core (or_park in
// python.hpp), but a task's own Python code may still end the thread: so the functions given to start_thread, and all
// they call while Python may run, have neither (std::thread would add one).
#pragma once

namespace eventide {

// Throws Error (device) if the system has no thread to give.
void start_thread(void* (*function)(void*), void* argument);

// At most 15 characters are shown by the system.
void name_this_thread(const char* name) noexcept;

// Never returns: where a thread waits for the end of the process, with all the locks that it holds.
[[noreturn]] void park_thread();

}  // namespace eventide
