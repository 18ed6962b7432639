#include "bindings/types/hot_ticket.hpp"

#include "bindings/hooks/learnt.hpp"

namespace eventide::python {
namespace {

PyTypeObject* ticket_type = nullptr;

struct Ticket {
    PyObject_HEAD;
    Marker* marker;    // owned reference, or nullptr
    Failure* failure;  // owned reference, or nullptr
    Stream* sync;      // owned reference, or nullptr
    HookRecord told;   // with a handle until its end is told
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

// Tells the end of the synchronization, once. False if a listener raised.
bool tell_end(Ticket* t, Outcome outcome) {
    if (!t->told.handle) return true;
    HookRecord r = t->told;
    t->told.handle = 0;
    if (!hub::listening(r.hook)) return true;
    set_end(r, outcome);
    r.waited_ns = r.time_ns ? now_ns() - r.time_ns : 0;
    r.time_ns = 0;
    r.thread = 0;
    hub::fire(r);
    return !PyErr_Occurred();
}

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
    if (!tell_end(t, failure ? Outcome::failed : Outcome::ok)) return nullptr;
    if (!failure) Py_RETURN_NONE;
    if (t->sync) return raise_failure(*failure);
    return raise_stream_error(
        *failure, "event " + std::to_string(t->marker->event()) + " of " + t->marker->stream().describe() + " failed");
}

// Nobody waits any more. An error that was taken out of the stream for us goes back into it.
PyObject* m_abandon(PyObject* self, PyObject*) {
    auto* t = (Ticket*)self;
    if (t->sync && t->marker && !t->sync->abandon_sync(*t->marker) && t->marker->failure())
        t->sync->poison(t->marker->failure());
    if (t->sync && !t->marker && t->failure) t->sync->poison(Ref<Failure>(t->failure));
    if (!tell_end(t, Outcome::cancelled)) return nullptr;
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
     "notify($self, fn, /)\n--\n\nCalls fn() once it is over and returns True; False if it is over."},
    {"result", m_result, METH_NOARGS, "result($self)\n--\n\nRaises what went wrong. Only once it is over."},
    {"abandon", m_abandon, METH_NOARGS, "abandon($self)\n--\n\nNobody waits any more; no error is lost by that."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, (void*)ticket_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, (void*)"One wait for a marker that blocks nobody."},
    {0, nullptr},
};

PyType_Spec spec = {"eventide._native.Ticket", sizeof(Ticket), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

PyTypeObject* make_ticket_type() {
    return ticket_type = (PyTypeObject*)PyType_FromSpec(&spec);
}

PyObject* make_ticket(Ref<Marker> marker, Ref<Failure> failure, Stream* sync, const HookRecord& told) {
    auto* t = (Ticket*)ticket_type->tp_alloc(ticket_type, 0);
    if (!t) return nullptr;
    t->marker = marker.detach();
    t->failure = failure.detach();
    t->sync = Ref<Stream>(sync).detach();
    t->told = told;
    return (PyObject*)t;
}

}  // namespace eventide::python
