// The state word of a Future, and the side of it that concurrent.futures sees.
#pragma once

#include "bindings/types/hot_future.hpp"

namespace eventide::python {

enum : uint32_t { pending = 0, running = 1, cancelled = 2, finished = 3, state_bits = 3 };
inline constexpr uint32_t has_condition = 4;  // concurrent.futures uses it: changes are notified under the condition
inline constexpr uint32_t has_callbacks = 8;
inline constexpr uint32_t has_sleepers = 16;

inline uint32_t state_of(const Future* f) {
    return f->word.load(std::memory_order_acquire) & state_bits;
}
inline bool is_over(const Future* f) {
    return state_of(f) >= cancelled;
}

// For a Future with waiters or callbacks: a polled device is polled from now on until the work is complete.
void poll_until_complete(Future* f);

// Attributes and methods of the type, in future_state.cpp.
PyObject* future_state_name(PyObject* self, void*);
PyObject* future_condition(PyObject* self, void*);
PyObject* future_waiters(PyObject* self, void*);
PyObject* future_callbacks(PyObject* self, void*);
PyObject* future_watched(PyObject* self, void*);
PyObject* future_settle(PyObject* self, PyObject*);

}  // namespace eventide::python
