#include "bindings/types/hot_ticket.hpp"

namespace eventide::python {
namespace {

PyTypeObject* ticket_type = nullptr;

struct Ticket {
    PyObject_HEAD;
    Marker* marker;        // owned reference, or nullptr
    Failure* failure;      // owned reference, or nullptr
    Stream* sync;          // owned reference, or nullptr
    Synchronization hook;  // begun
};

class WakeTask final : public Task {
  public:
    explicit WakeTask(PyObject* callback) : callback_(Py_NewRef(callback)) {}
    ~WakeTask() override { Py_DECREF(callback_); }
    void run() override {
        PyObject* r = PyObject_CallNoArgs(callback_);
        if (!r && !report_callback_error("await", callback_)) send_to_main_thread();
        Py_XDECREF(r);
    }

  private:
    PyObject* const callback_;
};

PyObject* m_notify(PyObject* self, PyObject* callback) {
    auto* t = (Ticket*)self;
    return guarded([=]() -> PyObject* {
        if (t->marker && t->marker->pending()) {
            auto* task = new WakeTask(callback);
            if (t->marker->when_ended(task)) Py_RETURN_TRUE;
            delete task;
        }
        Py_RETURN_FALSE;
    });
}

// Raises the failure: of a stream the error itself, of an event a StreamError caused by it.
PyObject* m_result(PyObject* self, PyObject*) {
    auto* t = (Ticket*)self;
    const Failure* failure = t->marker ? t->marker->failure().get() : t->failure;
    if (!t->hook.end(failure ? Outcome::failed : Outcome::ok)) return nullptr;
    if (!failure) Py_RETURN_NONE;
    if (t->sync) return raise_failure(*failure);
    return raise_stream_error(
        *failure, "event " + std::to_string(t->marker->event()) + " of " + t->marker->stream().describe() + " failed");
}

// Ends the wait. An error that was taken out of the stream for this ticket is returned to the stream.
PyObject* m_abandon(PyObject* self, PyObject*) {
    auto* t = (Ticket*)self;
    if (t->sync && t->marker && !t->sync->abandon_sync(*t->marker) && t->marker->failure())
        t->sync->set_error(t->marker->failure());
    if (t->sync && !t->marker && t->failure) t->sync->set_error(Ref<Failure>(t->failure));
    if (!t->hook.end(Outcome::cancelled)) return nullptr;
    Py_RETURN_NONE;
}

void ticket_dealloc(PyObject* self) {
    auto* t = (Ticket*)self;
    PyTypeObject* type = Py_TYPE(self);
    if (t->marker) t->marker->release();
    if (t->failure) t->failure->release();
    if (t->sync) t->sync->release();
    type->tp_free(self);
    Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"notify", m_notify, METH_O,
     "notify($self, fn, /)\n--\n\nCalls fn() when the marker completes and returns True; returns False if it is "
     "complete already."},
    {"result", m_result, METH_NOARGS,
     "result($self)\n--\n\nRaises the error of the work, if any. Call it after the marker has completed."},
    {"abandon", m_abandon, METH_NOARGS,
     "abandon($self)\n--\n\nEnds the wait. An error that it would have raised is left to the stream."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, (void*)ticket_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, (void*)"One wait for a marker that blocks no thread."},
    {0, nullptr},
};

PyType_Spec spec = {"eventide._native.Ticket", sizeof(Ticket), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

PyTypeObject* make_ticket_type() {
    return ticket_type = (PyTypeObject*)PyType_FromSpec(&spec);
}

PyObject* make_ticket(Ref<Marker> marker, Ref<Failure> failure, Stream* sync, const Synchronization& hook) {
    auto* t = (Ticket*)ticket_type->tp_alloc(ticket_type, 0);
    if (!t) return nullptr;
    t->marker = marker.detach();
    t->failure = failure.detach();
    t->sync = Ref<Stream>(sync).detach();
    t->hook = hook;
    return (PyObject*)t;
}

}  // namespace eventide::python
