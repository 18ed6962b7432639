#include "bindings/types/hot_stream.hpp"

#include "bindings/base/utf8.hpp"
#include "bindings/hooks/synchronization.hpp"
#include "bindings/types/current.hpp"
#include "bindings/types/hot_event.hpp"
#include "bindings/types/hot_ticket.hpp"
#include "runtime/wait_graph.hpp"

namespace eventide::python {
namespace {

PyTypeObject* stream_type = nullptr;

int stream_init(PyObject* self, PyObject* args, PyObject* kwargs) {
    const char* type;
    PyObject* name;
    int index, priority;
    unsigned max_pending;
    PyObject* existing = nullptr;
    int is_default = 0;
    static const char* keywords[] = {"device_type", "index",    "priority",   "max_pending",
                                     "name",        "existing", "is_default", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "siiIU|Op", const_cast<char**>(keywords), &type, &index, &priority,
                                     &max_pending, &name, &existing, &is_default))
        return -1;
    if (stream_core(self)) {
        raise(ErrorKind::usage, "%s is made already; make another Stream instead",
              stream_core(self)->describe().c_str());
        return -1;
    }
    if (existing == Py_None) existing = nullptr;
    read_switch_interval();
    guarded([&]() -> PyObject* {
        Device* device = devices::find(type);
        if (!device) throw Error(ErrorKind::value, std::string("there is no device type '") + type + "'");
        Ref<Stream> core =
            Stream::open(*device, {int16_t(index), priority, max_pending, utf8(name), existing, is_default != 0});
        core->handle = self;
        ((PyStream*)self)->core = core.detach();
        return nullptr;
    });
    return PyErr_Occurred() ? -1 : 0;
}

// A second handle for a stream whose first one was destroyed while its work still runs.
PyObject* m_adopt(PyObject* self, PyObject* capsule) {
    auto* core = static_cast<Stream*>(PyCapsule_GetPointer(capsule, "eventide.stream"));
    if (!core || stream_core(self)) return nullptr;
    core->retain();
    core->handle = self;
    ((PyStream*)self)->core = core;
    Py_RETURN_NONE;
}

void stream_finalize(PyObject* self);

int stream_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    const Stream* core = stream_core(self);
    // Of two handles of one stream only one has its error, as the collector counts.
    if (!core || core->handle != self || !process::is_current(core->generation)) return 0;
    // A subclass with a __del__ of its own is not finalized before it is cleared: what was not seen would be empty
    // then.
    const bool finalized = Py_TYPE(self)->tp_finalize == stream_finalize;
    return core->with_own_error([&](const Failure& failure) {
        auto* error = dynamic_cast<const PythonFailure*>(&failure);
        if (error && (finalized || error->seen())) Py_VISIT(error->exception);
        return 0;
    });
}

// Idempotent: a subclass with a __del__ of its own gets here from stream_dealloc alone.
void stream_finalize(PyObject* self) {
    Stream* core = stream_core(self);
    if (!core) return;
    if (core->handle == self) core->handle = nullptr;
    if (!process::is_current(core->generation)) return;
    const KeptException kept;
    core->announce_deletion();
    if (PyErr_Occurred()) PyErr_WriteUnraisable(nullptr);
    // The collector may be about to clear the error: what must be logged is taken out before.
    if (core->with_own_error([](const Failure&) { return 1; })) core->drained();
    core->close();  // may call hooks
    if (PyErr_Occurred()) PyErr_WriteUnraisable(nullptr);
}

void stream_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    stream_finalize(self);
    Stream* core = stream_core(self);
    if (core && process::is_current(core->generation)) core->release();
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject* m_wait_event(PyObject* self, PyObject* event) {
    Stream* core = usable_core(self);
    if (!core) return nullptr;
    if (!is_event(event)) return raise(ErrorKind::type, "wait_event needs an Event, not %s", Py_TYPE(event)->tp_name);
    return event_wait(event, *core);
}

const char* const event_name[] = {"event"};

PyObject* m_record_event(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    Stream* core = usable_core(self);
    PyObject* event = nullptr;
    if (!core || !parse_arguments("record_event", event_name, &event, 1, args, nargs, kwnames)) return nullptr;
    if (event && event != Py_None && !is_event(event))
        return raise(ErrorKind::type, "record_event needs an Event or None, not %s", Py_TYPE(event)->tp_name);
    event = event && event != Py_None ? Py_NewRef(event) : make_event(core->device_id);
    if (!event) return nullptr;
    PyObject* r = event_record(event, *core);
    if (!r) Py_CLEAR(event);
    Py_XDECREF(r);
    return event;
}

PyObject* m_query(PyObject* self, PyObject*) {
    Stream* core = usable_core(self);
    if (!core) return nullptr;
    return guarded([&] {
        core->check_usable();
        const bool idle = core->idle();
        if (idle && !host_observed_completion(core, 0, 0, 0)) return (PyObject*)nullptr;
        return PyBool_FromLong(idle);
    });
}

const char* const timeout_name[] = {"timeout"};

PyObject* m_synchronize(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    Stream* core = usable_core(self);
    PyObject* given = nullptr;
    Timeout timeout;
    if (!core || !parse_arguments("synchronize", timeout_name, &given, 1, args, nargs, kwnames)) return nullptr;
    if (!parse_timeout(given, timeout)) return nullptr;
    return guarded([&] {
        core->check_usable();
        return synchronize_stream(*core, timeout, "Stream.synchronize()");
    });
}

PyObject* m_close(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    Stream* core = usable_core(self);
    PyObject* given = nullptr;
    Timeout timeout;
    if (!core || !parse_arguments("close", timeout_name, &given, 1, args, nargs, kwnames)) return nullptr;
    if (!parse_timeout(given, timeout)) return nullptr;
    return guarded([&]() -> PyObject* {
        if (!process::is_current(core->generation))
            throw Error(ErrorKind::stream, process::before_fork(core->describe()));
        refuse_in_callback("Stream.close()");
        {
            Blocking would_block("Stream.close()", *core, core->position());  // refused before anything is closed
        }
        core->announce_deletion();
        if (PyErr_Occurred()) return nullptr;
        core->refuse();
        PyObject* r = synchronize_stream(*core, timeout, "Stream.close()");
        // Only now may the worker end, which reports an error as unseen; and only if none is left for the next close().
        if (core->idle() && !core->has_error()) core->close();
        return r;
    });
}

Synchronization synchronization_of(const Stream& s) {
    return Synchronization({.hook = Hook::stream_synchronization, .device = s.device_id, .stream = s.id});
}

// The ticket of a synchronization that does not block the thread: for `await stream`.
PyObject* m_ticket(PyObject* self, PyObject*) {
    Stream* core = usable_core(self);
    if (!core) return nullptr;
    return guarded([&]() -> PyObject* {
        core->check_usable();
        Synchronization hook = synchronization_of(*core);
        if (!hook.begin()) return nullptr;
        Stream::Sync sync = core->begin_sync();
        return make_ticket(std::move(sync.marker), std::move(sync.failure), core, hook);
    });
}

PyObject* m_enter(PyObject* self, PyObject*) {
    if (!usable_core(self) || !push_stream(self)) return nullptr;
    return Py_NewRef(self);
}

PyObject* m_exit(PyObject* self, PyObject* const*, Py_ssize_t) {
    if (!pop_stream(self)) return nullptr;
    Py_RETURN_NONE;
}

PyObject* stream_compare(PyObject* a, PyObject* b, int op) {
    if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
    const bool same = a == b || (is_stream(b) && stream_core(a) && stream_core(a) == stream_core(b));
    return PyBool_FromLong(same == (op == Py_EQ));
}

Py_hash_t stream_hash(PyObject* self) {
    return stream_core(self) ? Py_hash_t(stream_core(self)->id) : -2;
}

template <class F>
PyObject* property(PyObject* self, F f) {
    Stream* core = usable_core(self);
    return core ? f(*core) : nullptr;
}

PyObject* g_id(PyObject* self, void*) {
    return property(self, [](Stream& s) { return PyLong_FromUnsignedLongLong(s.id); });
}
PyObject* g_priority(PyObject* self, void*) {
    return property(self, [](Stream& s) { return PyLong_FromLong(s.options.priority); });
}
PyObject* g_max_pending(PyObject* self, void*) {
    return property(self, [](Stream& s) {
        return s.options.max_pending ? PyLong_FromUnsignedLong(s.options.max_pending) : Py_NewRef(Py_None);
    });
}
PyObject* g_name(PyObject* self, void*) {
    return property(self, [](Stream& s) {
        return PyUnicode_FromStringAndSize(s.options.name.data(), Py_ssize_t(s.options.name.size()));
    });
}
PyObject* g_pending(PyObject* self, void*) {
    return property(self, [](Stream& s) { return PyLong_FromUnsignedLong(s.queued()); });
}
PyObject* g_closed(PyObject* self, void*) {
    return property(self, [](Stream& s) { return PyBool_FromLong(s.closed()); });
}
PyObject* g_native_handle(PyObject* self, void*) {
    return property(self,
                    [](Stream& s) { return guarded([&s] { return PyLong_FromUnsignedLongLong(s.native_handle()); }); });
}
PyObject* g_device_stream(PyObject* self, void*) {
    return property(self, [](Stream& s) {
        auto* object = (PyObject*)s.host_object();
        return Py_NewRef(object ? object : Py_None);
    });
}
PyObject* g_device_type(PyObject* self, void*) {
    return property(self, [](Stream& s) { return PyUnicode_FromString(s.device.type().c_str()); });
}
PyObject* g_device_index(PyObject* self, void*) {
    return property(self, [](Stream& s) { return PyLong_FromLong(s.device_id.index); });
}

#define FASTKW(f) (PyCFunction)(void (*)(void)) f, METH_FASTCALL | METH_KEYWORDS
#define FAST(f) (PyCFunction)(void (*)(void)) f, METH_FASTCALL

PyMethodDef methods[] = {
    {"submit", FASTKW(stream_submit),
     "submit($self, fn, /, *args, **kwargs)\n--\n\nQueues fn(*args, **kwargs) and returns its Future."},
    {"submit_native", FASTKW(stream_submit_native),
     "submit_native($self, function, argument=None, *, name=None, keep=None, reads=None, writes=None)\n--\n\nQueues a "
     "C function ``void (*)(void *)``, which never takes the GIL.\n\n"
     "`function` is a ctypes function pointer, or a capsule named \"eventide.work\" whose context is the argument if\n"
     "none is given. `argument` is an address, a ctypes object, or None. Both, and `keep`, stay alive until it ran;\n"
     "so do `reads` and `writes`, the memory that it touches."},
    {"_submit_call", FAST(stream_submit_call), "_submit_call($self, function, argument, keep, name, /)\n--\n\n"},
    {"copy", FASTKW(stream_copy),
     "copy($self, dst, src)\n--\n\nQueues a copy of all bytes of src into dst; returns its Future."},
    {"wait_event", m_wait_event, METH_O,
     "wait_event($self, event, /)\n--\n\nMakes later work wait for what event records now. Does not block."},
    {"record_event", FASTKW(m_record_event),
     "record_event($self, event=None)\n--\n\nRecords event, or a new one without timing, behind what is queued; "
     "returns it."},
    {"query", m_query, METH_NOARGS, "query($self)\n--\n\nTrue if everything queued is complete. Never blocks."},
    {"synchronize", FASTKW(m_synchronize),
     "synchronize($self, timeout=None)\n--\n\nBlocks until everything queued is complete; raises its first error "
     "once."},
    {"close", FASTKW(m_close),
     "close($self, timeout=None)\n--\n\nRefuses new work, waits for what is queued, raises an error that was not "
     "raised "
     "before. Idempotent."},
    {"_adopt", m_adopt, METH_O, "_adopt($self, capsule, /)\n--\n\n"},
    {"_ticket", m_ticket, METH_NOARGS, "_ticket($self)\n--\n\n"},
    {"__enter__", m_enter, METH_NOARGS, "__enter__($self)\n--\n\nMakes this the current stream of the thread."},
    {"__exit__", FAST(m_exit), "__exit__($self, *exc)\n--\n\n"},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef getset[] = {
    {"stream_id", g_id, nullptr, "Unique in the process, kept for life.", nullptr},
    {"priority", g_priority, nullptr, "As given.", nullptr},
    {"max_pending", g_max_pending, nullptr, "How many work items may be queued before submit blocks; None: any number.",
     nullptr},
    {"name", g_name, nullptr, "As given, for messages.", nullptr},
    {"pending", g_pending, nullptr, "Work items queued and not started.", nullptr},
    {"closed", g_closed, nullptr, "True once close() was called.", nullptr},
    {"native_handle", g_native_handle, nullptr, "The driver's own handle, or 0.", nullptr},
    {"device_type", g_device_type, nullptr, "The type of its device, such as 'cpu'.", nullptr},
    {"device_index", g_device_index, nullptr, "The index of its device within the type.", nullptr},
    {"_device_stream", g_device_stream, nullptr, "The stream object of its DeviceBackend, or None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_init, (void*)stream_init},
    {Py_tp_new, (void*)PyType_GenericNew},
    {Py_tp_dealloc, (void*)stream_dealloc},
    {Py_tp_traverse, (void*)stream_traverse},
    {Py_tp_finalize, (void*)stream_finalize},
    {Py_tp_richcompare, (void*)stream_compare},
    {Py_tp_hash, (void*)stream_hash},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_tp_doc, (void*)"The native half of eventide.Stream."},
    {0, nullptr},
};

PyType_Spec spec = {"eventide._native.StreamBase", sizeof(PyStream), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

PyTypeObject* make_stream_type() {
    return stream_type = (PyTypeObject*)PyType_FromSpec(&spec);
}

bool is_stream(PyObject* object) {
    return PyObject_TypeCheck(object, stream_type);
}

Stream* usable_core(PyObject* self) {
    if (Stream* core = stream_core(self)) return core;
    raise(ErrorKind::usage, "this %s was never initialised: call super().__init__() in its __init__",
          Py_TYPE(self)->tp_name);
    return nullptr;
}

PyObject* stream_argument(const char* verb, PyObject* given, DeviceId device) {
    if (!given || given == Py_None) return current_stream(device);
    if (is_stream(given)) return usable_core(given) ? Py_NewRef(given) : nullptr;
    return raise(ErrorKind::type, "%s needs a Stream or None, not %s", verb, Py_TYPE(given)->tp_name);
}

PyObject* synchronize_stream(Stream& stream, const Timeout& timeout, const char* verb) {
    refuse_in_callback(verb);
    Synchronization hook = synchronization_of(stream);
    if (!hook.begin()) return nullptr;
    Stream::Sync sync = stream.begin_sync(timeout.deadline > hook.start_ns);
    Waited waited = Waited::done;
    if (Marker* marker = sync.marker.get()) {
        try {
            Blocking blocking(verb, stream, marker->position());
            waited = wait_without_gil(timeout.deadline, [marker](int64_t ns) { return marker->sleep(ns); });
        } catch (const Error&) {
            stream.abandon_sync(*marker);
            throw;
        }
        if (waited != Waited::done && !stream.abandon_sync(*marker)) {
            // It ended meanwhile. An error that cannot be raised because of Ctrl-C is put back into the stream.
            if (waited == Waited::interrupted && marker->failure()) stream.set_error(marker->failure());
            if (waited == Waited::timeout) waited = Waited::done;
        }
        if (waited == Waited::done) sync.failure = marker->failure();
    }
    drop_what_is_due();  // such as the arrays that a copy kept exported; waiting did so, but it may have been over
    if (!hook.end(waited, bool(sync.failure)) || waited == Waited::interrupted) return nullptr;
    if (waited == Waited::timeout)
        return raise_timeout(
            verb, stream.describe() + " is still busy, with " + std::to_string(stream.queued()) + " more queued,",
            timeout);
    if (sync.failure) return raise_failure(*sync.failure);
    Py_RETURN_NONE;
}

}  // namespace eventide::python
