// A ticket: one wait for a marker that blocks nobody. What asyncio's side of the runtime holds while it waits.
#pragma once

#include "bindings/base/python.hpp"
#include "runtime/stream.hpp"

namespace eventide::python {

PyTypeObject* make_ticket_type();
// No marker: over already, with that failure. `sync`: the stream that is being synchronized, or nullptr.
// `told`: what the hook said at the beginning; with a handle, the end is told too.
PyObject* make_ticket(Ref<Marker> marker, Ref<Failure> failure, Stream* sync, const HookRecord& told);

}  // namespace eventide::python
