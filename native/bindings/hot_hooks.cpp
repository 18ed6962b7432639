#include "hot_hooks.hpp"

#include <string>
#include <vector>

#include "../core/context.hpp"

namespace eventide::python {
namespace {

struct Callback {
    PyObject* function;  // owned
    DeviceId device;     // type -1: every device
    bool observer;       // wants the whole record
    bool end;            // hears the end of a synchronization instead of its start
    uint64_t number;
};

// Replaced whole, never changed: who walks it sees the callbacks of the moment it fired. The GIL guards everything
// here.
struct Snapshot {
    std::vector<Callback> callbacks;
    uint32_t users = 1;      // one for being current
    bool observers = false;  // some want the whole record
};

struct HookState {
    Snapshot* current = nullptr;
    uint64_t fired = 0;
    uint64_t errors = 0;
};

HookState states[hook_count];
uint64_t numbers = 0;
thread_local bool in_callback = false;

struct Arity {
    int count;
    const char* names;
};
constexpr Arity arities[hook_count] = {
    {1, "(event)"},
    {1, "(event)"},
    {2, "(event, stream)"},
    {2, "(event, stream)"},
    {1, "(ptr)"},
    {1, "(ptr)"},
    {1, "(stream)"},
    {0, "()"},
    {1, "(stream)"},
    {1, "(event)"},
    {1, "(stream)"},
    {5, "(stream, work, name, reads, writes)"},
    {3, "(work, start_ns, end_ns)"},
    {5, "(stream, name, group, reads, writes)"},
};

void let_go(Snapshot* s) {
    if (!s || --s->users) return;
    for (Callback& c : s->callbacks) Py_DECREF(c.function);
    delete s;
}

// No record: somebody fired by hand, for no device and not the end of anything.
bool wants(const Callback& c, const HookRecord* r) {
    if (c.end != (r && r->end)) return false;
    if (c.device.type < 0) return true;
    return r && c.device.type == r->device.type && (c.device.index < 0 || c.device.index == r->device.index);
}

PyObject* ranges(const Access* accesses, uint32_t count) {
    PyObject* out = PyTuple_New(count);
    for (uint32_t i = 0; out && i < count; ++i)
        PyTuple_SET_ITEM(
            out, i,
            Py_BuildValue("KK", (unsigned long long)accesses[i].address, (unsigned long long)accesses[i].bytes));
    return out;
}

PyObject* number(uint64_t n) {
    return PyLong_FromUnsignedLongLong(n);
}
PyObject* text(std::string_view s) {
    return PyUnicode_DecodeUTF8(s.data(), Py_ssize_t(s.size()), "replace");
}

// The arguments of the hook's callbacks, owned.
int make_arguments(const HookRecord& r, PyObject** out) {
    switch (r.hook) {
        case Hook::event_creation:
        case Hook::event_deletion:
        case Hook::event_synchronization:
            out[0] = number(r.event);
            return 1;
        case Hook::event_record:
        case Hook::event_wait:
            out[0] = number(r.event), out[1] = number(r.stream);
            return 2;
        case Hook::memory_allocation:
        case Hook::memory_deallocation:
            out[0] = number(r.handle);
            return 1;
        case Hook::stream_creation:
        case Hook::stream_deletion:
        case Hook::stream_synchronization:
            out[0] = number(r.stream);
            return 1;
        case Hook::device_synchronization:
            return 0;
        case Hook::work_completion:
            out[0] = number(r.work), out[1] = PyLong_FromLongLong(r.start_ns), out[2] = PyLong_FromLongLong(r.end_ns);
            return 3;
        case Hook::work_submission:
            out[0] = number(r.stream), out[1] = number(r.work), out[2] = text(r.name);
            break;
        case Hook::collective_launch:
            out[0] = number(r.stream), out[1] = text(r.name), out[2] = text(r.group);
            break;
    }
    out[3] = ranges(r.reads, r.read_count);
    out[4] = ranges(r.writes, r.write_count);
    return 5;
}

// Calls the callbacks of the moment. The record, or else the arguments, may be missing: they are made from the other.
// Stops early, with the exception set, when a callback raises KeyboardInterrupt or SystemExit.
void walk(Hook hook, const HookRecord* r, PyObject* const* args, int nargs) {
    HookState& state = states[unsigned(hook)];
    Snapshot* s = state.current;
    bool& busy = in_callback;
    if (!s || busy) return;
    ++s->users;
    ++state.fired;
    busy = true;
    PyObject* made[5] = {};
    int made_count = 0;
    PyObject* record = nullptr;
    for (const Callback& c : s->callbacks) {
        if (!wants(c, r)) continue;
        PyObject* result = nullptr;
        if (c.observer) {
            if (!record) record = make_hook_record(*r);
            if (record) result = PyObject_CallOneArg(c.function, record);
        } else {
            if (!args) {
                nargs = made_count = make_arguments(*r, made);
                args = made;
            }
            result = PyObject_Vectorcall(c.function, args, size_t(nargs), nullptr);
        }
        if (!result) {
            ++state.errors;
            if (!report_callback_error(hub::name(hook).data(), c.function)) break;
        }
        Py_XDECREF(result);
    }
    busy = false;
    for (int i = 0; i < made_count; ++i) Py_XDECREF(made[i]);  // numbers, texts and tuples of them: no code runs
    if (record) {
        PyObject *kind, *value, *trace;
        PyErr_Fetch(&kind, &value, &trace);
        finish_hook_record(record);
        PyErr_Restore(kind, value, trace);
    }
    let_go(s);
}

class Bridge final : public hub::Listener {
  public:
    void heard(const HookRecord& record) override {
        if (in_callback) return;
        const int turn = take_gil();
        walk(record.hook, &record, nullptr, 0);
        // From a worker KeyboardInterrupt and SystemExit go to the main thread.
        if (thread_context.core_thread && PyErr_Occurred()) send_to_main_thread();
        give_gil(turn);
    }
};

Bridge bridge;

void replace(Hook hook, Snapshot* fresh) {
    HookState& state = states[unsigned(hook)];
    Snapshot* old = state.current;
    if (fresh && fresh->callbacks.empty()) {
        delete fresh;
        fresh = nullptr;
    }
    state.current = fresh;
    for (size_t i = 0; fresh && i < fresh->callbacks.size(); ++i) fresh->observers |= fresh->callbacks[i].observer;
    if (fresh)
        hub::add(hook, bridge);
    else
        hub::remove(hook, bridge);
    let_go(old);
}

Snapshot* copy_current(Hook hook) {
    auto* s = new Snapshot;
    if (Snapshot* now = states[unsigned(hook)].current) s->callbacks = now->callbacks;
    for (Callback& c : s->callbacks) Py_INCREF(c.function);
    return s;
}

// ---- the registry type -------------------------------------------------------------------------------------------

struct Registry {
    PyObject_HEAD;
    Hook hook;
};

int registry_init(PyObject* self, PyObject* args, PyObject*) {
    int hook;
    if (!PyArg_ParseTuple(args, "i", &hook)) return -1;
    if (hook < 0 || hook >= hook_count) {
        raise(ErrorKind::value, "there is no hook number %d", hook);
        return -1;
    }
    ((Registry*)self)->hook = Hook(hook);
    return 0;
}

std::vector<Access> to_ranges(PyObject* pairs) {
    std::vector<Access> out;
    PyObject* list = PySequence_Fast(pairs, "reads and writes are sequences of (address, nbytes)");
    for (Py_ssize_t i = 0; list && i < PySequence_Fast_GET_SIZE(list); ++i) {
        unsigned long long address = 0, bytes = 0;
        PyObject* pair = PySequence_Fast_GET_ITEM(list, i);
        if (!PyTuple_Check(pair) || !PyArg_ParseTuple(pair, "KK", &address, &bytes)) break;
        out.push_back({address, bytes});
    }
    Py_XDECREF(list);
    return out;
}

// The record that the arguments of fire_callbacks stand for. What is not a number becomes 0.
void fire_from_arguments(Hook hook, PyObject* const* args, int nargs, bool with_native) {
    HookRecord r{.hook = hook};
    uint64_t n[3] = {};
    for (int i = 0; i < nargs && i < 3; ++i)
        if (PyLong_Check(args[i])) n[i] = PyLong_AsUnsignedLongLongMask(args[i]);
    std::vector<Access> reads, writes;
    auto utf8 = [](PyObject* o) -> std::string_view {
        const char* s = PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : nullptr;
        return s ? s : "";
    };
    switch (hook) {
        case Hook::event_creation:
        case Hook::event_deletion:
        case Hook::event_synchronization:
            r.event = n[0];
            break;
        case Hook::event_record:
        case Hook::event_wait:
            r.event = n[0], r.stream = n[1];
            break;
        case Hook::memory_allocation:
        case Hook::memory_deallocation:
            r.handle = n[0];
            break;
        case Hook::stream_creation:
        case Hook::stream_deletion:
        case Hook::stream_synchronization:
            r.stream = n[0];
            break;
        case Hook::device_synchronization:
            break;
        case Hook::work_completion:
            r.work = n[0], r.start_ns = int64_t(n[1]), r.end_ns = int64_t(n[2]);
            break;
        case Hook::work_submission:
            r.work = n[1], r.name = utf8(args[2]);
            [[fallthrough]];
        case Hook::collective_launch:
            r.stream = n[0];
            if (hook == Hook::collective_launch) r.name = utf8(args[1]), r.group = utf8(args[2]);
            reads = to_ranges(args[3]);
            writes = to_ranges(args[4]);
            r.reads = reads.data(), r.read_count = uint32_t(reads.size());
            r.writes = writes.data(), r.write_count = uint32_t(writes.size());
            break;
    }
    PyErr_Clear();
    walk(hook, &r, args, nargs);
    if (with_native && !PyErr_Occurred()) hub::fire_except(r, &bridge);
}

PyObject* m_fire(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
    const Hook hook = ((Registry*)self)->hook;
    if (!hub::listening(hook)) Py_RETURN_NONE;
    const Arity& arity = arities[unsigned(hook)];
    if (nargs != arity.count)
        return raise(ErrorKind::type, "fire_callbacks of %s takes %s, %zd arguments were given", hub::name(hook).data(),
                     arity.names, nargs);
    const Snapshot* s = states[unsigned(hook)].current;
    const bool native = hub::others_listening(hook, bridge);
    if (native || (s && s->observers))
        fire_from_arguments(hook, args, int(nargs), native);
    else
        walk(hook, nullptr, args, int(nargs));
    if (PyErr_Occurred()) return nullptr;
    Py_RETURN_NONE;
}

PyObject* g_hook(PyObject* self, void*) {
    return PyUnicode_FromString(hub::name(((Registry*)self)->hook).data());
}

PyMethodDef methods[] = {
    {"fire_callbacks", (PyCFunction)(void (*)(void))m_fire, METH_FASTCALL,
     "fire_callbacks($self, *args)\n--\n\nTells all listeners of this hook, as if the runtime had."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef getset[] = {{"hook", g_hook, nullptr, "The name of the hook.", nullptr},
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {
    {Py_tp_init, (void*)registry_init},
    {Py_tp_new, (void*)PyType_GenericNew},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_tp_doc, (void*)"The native half of eventide.hooks.CallbackRegistry."},
    {0, nullptr},
};

PyType_Spec spec = {"eventide._native.RegistryBase", sizeof(Registry), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                    slots};

}  // namespace

PyTypeObject* make_registry_type() {
    return (PyTypeObject*)PyType_FromSpec(&spec);
}

uint64_t add_callback(Hook hook, PyObject* callback, DeviceId device, bool observer, bool end) {
    Snapshot* s = copy_current(hook);
    s->callbacks.push_back({Py_NewRef(callback), device, observer, end, ++numbers});
    const uint64_t made = numbers;
    replace(hook, s);
    return made;
}

bool remove_callback(Hook hook, uint64_t number) {
    Snapshot* s = copy_current(hook);
    for (size_t i = 0; i < s->callbacks.size(); ++i) {
        if (s->callbacks[i].number != number) continue;
        PyObject* gone = s->callbacks[i].function;
        s->callbacks.erase(s->callbacks.begin() + long(i));
        replace(hook, s);
        Py_DECREF(gone);
        return true;
    }
    let_go(s);
    return false;
}

void clear_callbacks(Hook hook) {
    Snapshot* s = copy_current(hook);
    std::vector<PyObject*> gone;
    std::erase_if(s->callbacks, [&](Callback& c) {
        if (!c.observer) gone.push_back(c.function);
        return !c.observer;
    });
    replace(hook, s);
    for (PyObject* f : gone) Py_DECREF(f);
}

HookStatistics hook_statistics(Hook hook) {
    const HookState& s = states[unsigned(hook)];
    return {s.current ? s.current->callbacks.size() : 0, s.fired, s.errors};
}

void callbacks_after_fork_in_child() {
    in_callback = false;
}

}  // namespace eventide::python
