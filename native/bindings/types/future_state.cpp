// What concurrent.futures expects of a Future (a state by name, a Condition, waiters), made on first use.
#include "bindings/types/future_state.hpp"

#include "runtime/poller.hpp"

namespace eventide::python {

void poll_until_complete(Future* f) {
    if (f->marker && !is_over(f)) poller::watch(Ref<Marker>(f->marker));
}

// For _deliver: whether concurrent.futures has used this Future.
PyObject* future_watched(PyObject* self, void*) {
    return PyBool_FromLong(((Future*)self)->condition != nullptr);
}

// For _deliver: publishes the state to concurrent.futures, and returns the callbacks.
PyObject* future_settle(PyObject* self, PyObject*) {
    auto* f = (Future*)self;
    f->settled = state_of(f);
    PyObject* callbacks = f->callbacks;
    f->callbacks = nullptr;
    return callbacks ? callbacks : PyList_New(0);
}

PyObject* future_state_name(PyObject* self, void*) {
    auto* f = (Future*)self;
    static const char* const names[] = {"PENDING", "RUNNING", "CANCELLED_AND_NOTIFIED", "FINISHED"};
    return PyUnicode_InternFromString(names[f->condition ? f->settled : state_of(f)]);
}

PyObject* future_condition(PyObject* self, void*) {
    auto* f = (Future*)self;
    if (!f->condition) {
        PyObject* threading = PyImport_ImportModule("threading");
        PyObject* made = threading ? PyObject_CallMethod(threading, "Condition", nullptr) : nullptr;
        Py_XDECREF(threading);
        if (!made) return nullptr;
        if (f->condition) {  // another thread was here while we made one
            Py_DECREF(made);
        } else {
            f->condition = made;
            f->settled = f->word.fetch_or(has_condition, std::memory_order_acq_rel) & state_bits;
            poll_until_complete(f);
        }
    }
    return Py_NewRef(f->condition);
}

PyObject* future_waiters(PyObject* self, void*) {
    auto* f = (Future*)self;
    if (!f->waiters && !(f->waiters = PyList_New(0))) return nullptr;
    return Py_NewRef(f->waiters);
}

PyObject* future_callbacks(PyObject* self, void*) {
    auto* f = (Future*)self;
    if (!f->callbacks && !(f->callbacks = PyList_New(0))) return nullptr;
    return Py_NewRef(f->callbacks);
}

}  // namespace eventide::python
