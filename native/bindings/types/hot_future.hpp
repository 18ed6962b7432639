// et.Future's native half: a result that a worker sets with one atomic store. The Condition, the waiters and the
// callbacks that concurrent.futures expects are made on first use.
#pragma once

#include "bindings/base/python.hpp"
#include "runtime/stream.hpp"

namespace eventide::python {

struct Future {
    PyObject_HEAD;
    std::atomic<uint32_t> word;  // state and flags, see hot_future.cpp
    uint32_t settled;            // the state that concurrent.futures sees once `condition` exists; the GIL guards it
    PyObject* result;            // written before the state is published, then constant; the GIL guards the rest
    PyObject* exception;         // what the work raised, once the program has fetched it; until then it is in `failure`
    PyObject* made;              // weak reference to the exception that was made of `failure` on demand
    PyObject* condition;
    PyObject* waiters;
    PyObject* callbacks;
    Stream* stream;  // owned reference
    uint64_t position;
    uint64_t work_id;
    const Failure* failure;  // owned reference
    // Of polled devices, until it is published: owned reference to the marker behind the work; polling it drives
    // them. The GIL guards it.
    Marker* marker;
    bool skipped;
};

// A new pending Future of the registered Python class. With the GIL.
Future* make_future();
void future_bind(Future* f, Stream& stream, uint64_t position, uint64_t work_id);
void future_watch(Future* f, Ref<Marker> marker);  // of polled devices
// The worker's side. begin: false if cancelled.
bool future_begin(Future* f);
void future_set_result(Future* f, PyObject* result);  // steals the reference
// The exception is made when it is fetched: that of skipped work is a StreamError caused by the failure.
void future_set_failure(Future* f, const Failure& failure, bool skipped);
// Publishes what was set; of polled devices with the GIL. If callbacks or waiters exist it takes over one reference to
// f and returns true.
bool future_publish(Future* f);

PyTypeObject* make_future_type();
// The failure to which a complete Future has a reference; nullptr if it has none, or the object is no Future.
const Failure* failure_of_future(PyObject* object);
// load() -> the Python class (a subclass of the native one and of concurrent.futures.Future) that submit() makes.
// Called at the first submit: concurrent.futures takes longer to import than all the rest.
void set_future_loader(PyObject* load);

}  // namespace eventide::python
