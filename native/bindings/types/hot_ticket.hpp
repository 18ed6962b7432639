// A ticket: one wait for a marker that blocks no thread. asyncio's side of the runtime holds it while it waits.
#pragma once

#include "bindings/hooks/synchronization.hpp"

namespace eventide::python {

PyTypeObject* make_ticket_type();
// No marker: over already, with that failure. `sync`: the stream that is being synchronized, or nullptr.
// `hook` has begun; the ticket ends it.
PyObject* make_ticket(Ref<Marker> marker, Ref<Failure> failure, Stream* sync, const Synchronization& hook);

}  // namespace eventide::python
