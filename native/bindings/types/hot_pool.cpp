#include "bindings/types/hot_pool.hpp"

#include "bindings/types/hot_event.hpp"
#include "runtime/device.hpp"

namespace eventide::python {
namespace {

struct PyPool {
    PyObject_HEAD;
    EventPool* core;  // owned reference; nullptr until __init__
};

EventPool* pool_core(PyObject* self) {
    if (EventPool* core = ((PyPool*)self)->core) return core;
    raise(ErrorKind::usage, "this %s was never initialised: call super().__init__() in its __init__",
          Py_TYPE(self)->tp_name);
    return nullptr;
}

int pool_init(PyObject* self, PyObject* args, PyObject*) {
    const char* type;
    int index;
    if (!PyArg_ParseTuple(args, "si", &type, &index)) return -1;
    Device* device = devices::find(type);
    if (!device || ((PyPool*)self)->core) {
        raise(ErrorKind::value, device ? "this pool is made already" : "there is no device type '%s'", type);
        return -1;
    }
    auto* core = new_or_raise<EventPool>(DeviceId{device->number, int16_t(index)});
    if (!core) return -1;
    core->retain();
    ((PyPool*)self)->core = core;
    return 0;
}

void pool_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    if (EventPool* core = ((PyPool*)self)->core) core->release();
    type->tp_free(self);
    Py_DECREF(type);
}

// _acquire(timing: bool, stream or None) -> Event that is returned to the pool when dropped
PyObject* m_acquire(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
    EventPool* core = pool_core(self);
    if (!core) return nullptr;
    if (nargs != 2) return raise(ErrorKind::type, "_acquire() takes 2 arguments");
    return guarded([&] {
        return make_pooled_event(*core, core->acquire(args[0] == Py_True), true,
                                 args[1] == Py_None ? nullptr : args[1]);
    });
}

PyObject* m_acquire_id(PyObject* self, PyObject* timing) {
    EventPool* core = pool_core(self);
    if (!core) return nullptr;
    return guarded([&] { return PyLong_FromUnsignedLongLong(core->acquire(timing == Py_True).event->id); });
}

// _find(id) -> a handle that does not own the event
PyObject* m_find(PyObject* self, PyObject* id) {
    EventPool* core = pool_core(self);
    if (!core) return nullptr;
    const unsigned long long number = PyLong_AsUnsignedLongLong(id);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return raise(ErrorKind::event, "%R is not an event id of this pool", id);
    }
    return guarded([&] { return make_pooled_event(*core, core->find(number), false, nullptr); });
}

// _release(event) -> False if it had been released before
PyObject* m_release(PyObject* self, PyObject* event) {
    EventPool* core = pool_core(self);
    if (!core) return nullptr;
    if (!is_event(event))
        return raise(ErrorKind::type, "release needs an Event or its id, not %s", Py_TYPE(event)->tp_name);
    auto* e = (PyEvent*)event;
    if (e->pool != core) return raise(ErrorKind::event, "this event does not come from this pool");
    const bool first = core->give_back(*e->core, e->lease);
    return PyErr_Occurred() ? nullptr : PyBool_FromLong(first);
}

PyObject* m_empty_cache(PyObject* self, PyObject*) {
    EventPool* core = pool_core(self);
    if (!core) return nullptr;
    core->empty_cache();
    Py_RETURN_NONE;
}

PyObject* m_stats(PyObject* self, PyObject*) {
    EventPool* core = pool_core(self);
    if (!core) return nullptr;
    const EventPool::Stats s = core->stats();
    return Py_BuildValue("KKKK", s.created, s.in_use, s.cached, s.reused);
}

#define FAST(f) (PyCFunction)(void (*)(void)) f, METH_FASTCALL

PyMethodDef methods[] = {
    {"_acquire", FAST(m_acquire), "_acquire($self, enable_timing, stream, /)\n--\n\n"},
    {"_acquire_id", m_acquire_id, METH_O, "_acquire_id($self, enable_timing, /)\n--\n\n"},
    {"_find", m_find, METH_O, "_find($self, event_id, /)\n--\n\n"},
    {"_release", m_release, METH_O, "_release($self, event, /)\n--\n\n"},
    {"empty_cache", m_empty_cache, METH_NOARGS, "empty_cache($self)\n--\n\nDestroys the events that are not in use."},
    {"_stats", m_stats, METH_NOARGS, "_stats($self)\n--\n\n"},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_init, (void*)pool_init},
    {Py_tp_new, (void*)PyType_GenericNew},
    {Py_tp_dealloc, (void*)pool_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, (void*)"The native half of eventide.EventPool."},
    {0, nullptr},
};

PyType_Spec spec = {"eventide._native.EventPoolBase", sizeof(PyPool), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                    slots};

}  // namespace

PyTypeObject* make_pool_type() {
    return (PyTypeObject*)PyType_FromSpec(&spec);
}

}  // namespace eventide::python
