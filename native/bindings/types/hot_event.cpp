#include "bindings/types/hot_event.hpp"

#include "base/context.hpp"
#include "bindings/hooks/synchronization.hpp"
#include "bindings/types/current.hpp"
#include "bindings/types/hot_stream.hpp"
#include "bindings/types/hot_ticket.hpp"
#include "runtime/device.hpp"
#include "runtime/stream.hpp"
#include "runtime/wait_graph.hpp"

namespace eventide::python {
namespace {

PyTypeObject* event_type = nullptr;
PyTypeObject* event_class = nullptr;

PyEvent* as_event(PyObject* o) {
    return (PyEvent*)o;
}

int event_init(PyObject* self, PyObject* args, PyObject* kwargs) {
    const char* type;
    int index, timing, blocking;
    static const char* keywords[] = {"device_type", "index", "enable_timing", "blocking", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "zipp", const_cast<char**>(keywords), &type, &index, &timing,
                                     &blocking))
        return -1;
    if (as_event(self)->core) {
        raise(ErrorKind::usage, "this Event is made already; make another one instead");
        return -1;
    }
    EventOptions options{.timing = timing != 0, .blocking = blocking != 0};
    if (type) {
        Device* device = devices::find(type);
        if (!device) {
            raise(ErrorKind::value, "there is no device type '%s'", type);
            return -1;
        }
        options.device = {device->number, int16_t(index)};
    }
    auto* core = new_or_raise<Event>(options);
    if (!core) return -1;
    core->retain();
    as_event(self)->core = core;
    as_event(self)->lease = core->lease();
    return 0;
}

// Fires event_deletion and returns a pooled event to its pool. Keeps a pending exception.
void retire(PyEvent* e) {
    if (!e->core || !e->core->is_current()) return;
    const KeptException kept;
    if (e->pool)
        e->pool->give_back(*e->core, e->lease);
    else
        e->core->retire(e->lease);
    if (PyErr_Occurred()) PyErr_WriteUnraisable(nullptr);
}

void event_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyEvent* e = as_event(self);
    if (e->owner || !e->pool) retire(e);
    if (e->core) e->core->release();
    if (e->pool) e->pool->release();
    Py_CLEAR(e->stream);
    type->tp_free(self);
    Py_DECREF(type);
}

// The stream, and the two flags of torch's MPS events. They have no effect: a call locks what it needs, and nothing that
// was submitted is held back.
bool stream_and_flags(const char* verb, PyObject*& stream, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    static const char* const names[] = {"stream", "needs_lock", "sync_event"};
    PyObject* slots[3] = {};
    if (!parse_arguments(verb, names, slots, 3, args, nargs, kwnames)) return false;
    for (int i = 1; i < 3; ++i)
        if (slots[i] && !PyBool_Check(slots[i])) {
            raise(ErrorKind::type, "%s needs True or False for %s, not %s", verb, names[i], Py_TYPE(slots[i])->tp_name);
            return false;
        }
    stream = slots[0];
    return true;
}

PyObject* with_stream(const char* verb, PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                      PyObject* (*act)(PyObject*, Stream&)) {
    PyObject* given = nullptr;
    if (nargs == 1 && !kwnames)
        given = args[0];
    else if ((nargs || kwnames) && !stream_and_flags(verb, given, args, nargs, kwnames))
        return nullptr;
    if (given && is_stream(given)) {  // the common case: no reference to keep, the caller holds it
        Stream* core = usable_core(given);
        return core ? act(self, *core) : nullptr;
    }
    Event* core = event_core(self);
    if (!core) return nullptr;
    if ((!given || given == Py_None) && as_event(self)->stream) given = as_event(self)->stream;
    PyObject* stream = stream_argument(verb, given, core->device());
    if (!stream) return nullptr;
    PyObject* r = act(self, *stream_core(stream));
    Py_DECREF(stream);
    return r;
}

PyObject* m_record(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    return with_stream("Event.record()", self, args, nargs, kwnames, event_record);
}

PyObject* m_wait(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    return with_stream("Event.wait()", self, args, nargs, kwnames, event_wait);
}

PyObject* m_query(PyObject* self, PyObject*) {
    Event* core = event_core(self);
    if (!core) return nullptr;
    return guarded([&]() -> PyObject* {
        core->check_usable();
        const Event::Version v = core->current();
        const bool over = !v.marker || !v.marker->pending();
        if (over && v.marker && !host_observed_completion(&v.marker->stream(), core->id, v.number, 0)) return nullptr;
        return PyBool_FromLong(over);
    });
}

Synchronization synchronization_of(Event& e, const Event::Version& v) {
    HookRecord r{.hook = Hook::event_synchronization, .device = e.device(), .event = e.id, .version = v.number};
    if (v.marker) r.stream = v.marker->stream().id;
    return Synchronization(r);
}

PyObject* synchronize(Event& e, const Timeout& timeout) {
    e.check_usable();
    refuse_in_callback("Event.synchronize()");
    const Event::Version v = e.current();
    Synchronization hook = synchronization_of(e, v);
    if (!hook.begin()) return nullptr;
    Waited waited = Waited::done;
    if (Marker* marker = v.marker.get(); marker && marker->pending()) {
        Blocking blocking("Event.synchronize()", marker->stream(), marker->position());
        waited = wait_without_gil(timeout.deadline, [marker](int64_t ns) { return marker->sleep(ns); });
    }
    drop_what_is_due();  // as in synchronize_stream
    if (!hook.end(waited, v.marker && waited == Waited::done && v.marker->failure())) return nullptr;
    if (waited == Waited::timeout)
        return raise_timeout("Event.synchronize()",
                             e.describe() + " of " + v.marker->stream().describe() + " is still pending", timeout);
    if (waited == Waited::interrupted) return nullptr;
    if (v.marker && v.marker->failure()) {
        return raise_stream_error(*v.marker->failure(),
                                  e.describe() + " of " + v.marker->stream().describe() + " failed");
    }
    Py_RETURN_NONE;
}

PyObject* m_synchronize(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    static const char* const names[] = {"timeout"};
    Event* core = event_core(self);
    PyObject* given = nullptr;
    Timeout timeout;
    if (!core || !parse_arguments("Event.synchronize", names, &given, 1, args, nargs, kwnames)) return nullptr;
    if (!parse_timeout(given, timeout)) return nullptr;
    return guarded([&] { return synchronize(*core, timeout); });
}

PyObject* m_elapsed_time(PyObject* self, PyObject* end) {
    Event* core = event_core(self);
    if (!core) return nullptr;
    if (!is_event(end)) return raise(ErrorKind::type, "elapsed_time needs an Event, not %s", Py_TYPE(end)->tp_name);
    Event* other = event_core(end);
    return other ? guarded([&] { return PyFloat_FromDouble(core->elapsed_ms(*other)); }) : nullptr;
}

class NotifyTask final : public Task {
  public:
    NotifyTask(PyObject* event, PyObject* callback, Event::Version version)
        : event_(Py_NewRef(event)), callback_(Py_NewRef(callback)), version_(std::move(version)) {}
    ~NotifyTask() override {
        Py_DECREF(event_);
        Py_DECREF(callback_);
    }
    void run() override {
        const Event* event = event_core(event_);
        if (event && !host_observed_completion(&version_.marker->stream(), event->id, version_.number, 0))
            send_to_main_thread();
        PyObject* r = PyObject_CallOneArg(callback_, event_);
        if (!r && !report_callback_error("notify", callback_)) send_to_main_thread();
        Py_XDECREF(r);
    }

  private:
    PyObject* const event_;
    PyObject* const callback_;
    const Event::Version version_;
};

PyObject* m_notify(PyObject* self, PyObject* callback) {
    Event* core = event_core(self);
    if (!core) return nullptr;
    if (!PyCallable_Check(callback))
        return raise(ErrorKind::type, "notify needs a callable, not %s", Py_TYPE(callback)->tp_name);
    bool queued = false;
    guarded([&]() -> PyObject* {
        core->check_usable();
        const Event::Version v = core->current();
        if (!v.marker) return nullptr;
        if (v.marker->pending()) {
            auto* task = new NotifyTask(self, callback, v);
            queued = v.marker->when_ended(task);
            if (!queued) delete task;
        }
        if (!queued) host_observed_completion(&v.marker->stream(), core->id, v.number, 0);
        return nullptr;
    });
    if (PyErr_Occurred()) return nullptr;
    if (queued) Py_RETURN_TRUE;
    ++thread_context.callback_depth;
    PyObject* r = PyObject_CallOneArg(callback, self);
    --thread_context.callback_depth;
    if (!r && !report_callback_error("notify", callback)) return nullptr;
    Py_XDECREF(r);
    Py_RETURN_FALSE;
}

// _reset(timing, stream or None): as a new event, with the same id. The handle takes over the new lease.
PyObject* m_reset(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
    Event* core = event_core(self);
    if (!core) return nullptr;
    if (nargs != 2) return raise(ErrorKind::type, "_reset() takes 2 arguments");
    return guarded([&]() -> PyObject* {
        core->check_usable();
        EventOptions options = core->options();
        options.timing = args[0] == Py_True;
        PyEvent* e = as_event(self);
        core->retire(e->lease);  // fires event_deletion, which may call Python
        core->reset(options);
        e->lease = core->lease();
        Py_XSETREF(e->stream, args[1] == Py_None ? nullptr : Py_NewRef(args[1]));
        return PyErr_Occurred() ? nullptr : Py_NewRef(Py_None);
    });
}

PyObject* m_ticket(PyObject* self, PyObject*) {
    Event* core = event_core(self);
    if (!core) return nullptr;
    return guarded([&]() -> PyObject* {
        core->check_usable();
        const Event::Version v = core->current();
        Synchronization hook = synchronization_of(*core, v);
        return hook.begin() ? make_ticket(v.marker, {}, nullptr, hook) : nullptr;
    });
}

template <class F>
PyObject* property(PyObject* self, F f) {
    Event* core = event_core(self);
    return core ? guarded([&] { return f(*core); }) : nullptr;
}

PyObject* g_id(PyObject* self, void*) {
    return property(self, [](Event& e) { return PyLong_FromUnsignedLongLong(e.current().number ? e.id : 0); });
}
PyObject* g_real_id(PyObject* self, void*) {
    return property(self, [](Event& e) { return PyLong_FromUnsignedLongLong(e.id); });
}
PyObject* g_version(PyObject* self, void*) {
    return property(self, [](Event& e) { return PyLong_FromUnsignedLongLong(e.current().number); });
}
PyObject* g_completed_at(PyObject* self, void*) {
    return property(self, [](Event& e) { return PyLong_FromLongLong(e.completed_at()); });
}
PyObject* g_timing(PyObject* self, void*) {
    return property(self, [](Event& e) { return PyBool_FromLong(e.options().timing); });
}
PyObject* g_blocking(PyObject* self, void*) {
    return property(self, [](Event& e) { return PyBool_FromLong(e.options().blocking); });
}
// (type or None, index or None)
PyObject* g_device(PyObject* self, void*) {
    return property(self, [](Event& e) {
        const DeviceId d = e.device();
        PyObject* type = d.type < 0 ? Py_NewRef(Py_None) : PyUnicode_FromString(devices::at(d.type).type().c_str());
        PyObject* index = d.index < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(d.index);
        return Py_BuildValue("NN", type, index);
    });
}

#define FASTKW(f) (PyCFunction)(void (*)(void)) f, METH_FASTCALL | METH_KEYWORDS
#define FAST(f) (PyCFunction)(void (*)(void)) f, METH_FASTCALL

PyMethodDef methods[] = {
    {"record", FASTKW(m_record),
     "record($self, stream=None, needs_lock=True, sync_event=False)\n--\n\nPuts a new marker behind what is queued in "
     "stream (default: the current one). The flags are those of torch's MPS events, and have no effect."},
    {"wait", FASTKW(m_wait),
     "wait($self, stream=None, needs_lock=True, sync_event=False)\n--\n\nMakes later work of stream wait for what is "
     "recorded now. Does not block. The flags are those of torch's MPS events, and have no effect."},
    {"query", m_query, METH_NOARGS,
     "query($self)\n--\n\nTrue if the work before the last record is complete, or nothing was recorded. Never blocks."},
    {"synchronize", FASTKW(m_synchronize),
     "synchronize($self, timeout=None)\n--\n\nBlocks until the work before the last record is complete."},
    {"elapsed_time", m_elapsed_time, METH_O, "elapsed_time($self, end, /)\n--\n\nMilliseconds from this event to end."},
    {"notify", m_notify, METH_O,
     "notify($self, fn, /)\n--\n\nCalls fn(event) once when what is recorded now completes: True. If nothing is "
     "pending it is called at once: False."},
    {"_reset", FAST(m_reset), "_reset($self, enable_timing, stream, /)\n--\n\n"},
    {"_ticket", m_ticket, METH_NOARGS, "_ticket($self)\n--\n\n"},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef getset[] = {
    {"event_id", g_id, nullptr, "Unique in the process, kept for life; shows 0 until the first record.", nullptr},
    {"_id", g_real_id, nullptr, nullptr, nullptr},
    {"version", g_version, nullptr, "How often it was recorded.", nullptr},
    {"completed_at", g_completed_at, nullptr, "When the device passed what was recorded last: ns on the trace's clock.",
     nullptr},
    {"enable_timing", g_timing, nullptr, "As given.", nullptr},
    {"blocking", g_blocking, nullptr, "As given.", nullptr},
    {"_device", g_device, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_init, (void*)event_init},
    {Py_tp_new, (void*)PyType_GenericNew},
    {Py_tp_dealloc, (void*)event_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_tp_doc, (void*)"The native half of eventide.Event."},
    {0, nullptr},
};

PyType_Spec spec = {"eventide._native.EventBase", sizeof(PyEvent), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

PyTypeObject* make_event_type() {
    return event_type = (PyTypeObject*)PyType_FromSpec(&spec);
}
bool is_event(PyObject* object) {
    return PyObject_TypeCheck(object, event_type);
}
void set_event_class(PyObject* type) {
    Py_XSETREF(event_class, (PyTypeObject*)Py_NewRef(type));
}

Event* event_core(PyObject* event) {
    PyEvent* e = as_event(event);
    if (!e->core) {
        raise(ErrorKind::usage, "this %s was never initialised: call super().__init__() in its __init__",
              Py_TYPE(event)->tp_name);
        return nullptr;
    }
    if (e->pool && e->core->lease() != e->lease) {
        raise(ErrorKind::event, "this handle's event was returned to its pool; acquire() another one");
        return nullptr;
    }
    return e->core;
}

PyObject* make_event(DeviceId device) {
    auto* e = (PyEvent*)event_class->tp_alloc(event_class, 0);
    if (!e) return nullptr;
    e->core = new_or_raise<Event>(EventOptions{.device = device});
    if (!e->core) {
        Py_DECREF(e);
        return nullptr;
    }
    e->core->retain();
    e->lease = e->core->lease();
    return (PyObject*)e;
}

PyObject* make_pooled_event(EventPool& pool, EventPool::Lease lease, bool owner, PyObject* stream) {
    auto* e = (PyEvent*)event_class->tp_alloc(event_class, 0);
    if (!e) return nullptr;
    pool.retain();
    e->pool = &pool;
    e->core = lease.event.detach();
    e->lease = lease.number;
    e->owner = owner;
    e->stream = Py_XNewRef(stream);
    return (PyObject*)e;
}

PyObject* event_record(PyObject* event, Stream& stream) {
    Event* core = event_core(event);
    return core ? guarded([&]() -> PyObject* {
        stream.check_usable();
        core->record(stream);
        return PyErr_Occurred() ? nullptr : Py_NewRef(Py_None);
    })
                : nullptr;
}

PyObject* event_wait(PyObject* event, Stream& stream) {
    Event* core = event_core(event);
    return core ? guarded([&]() -> PyObject* {
        stream.check_usable();
        core->wait(stream);
        return PyErr_Occurred() ? nullptr : Py_NewRef(Py_None);
    })
                : nullptr;
}

}  // namespace eventide::python
