#include "bindings/hooks/hot_hooks.hpp"

#include <string>
#include <vector>

#include "base/context.hpp"
#include "bindings/base/exception.hpp"
#include "bindings/hooks/hook_arguments.hpp"
#include "runtime/device.hpp"

namespace eventide::python {
namespace {

struct Callback {
    PyObject* function;  // owned
    DeviceId device;     // its type a family of types; -1: every device
    bool observer;       // receives the whole record
    bool end;            // called at the end of a synchronization instead of its start
    uint64_t number;
};

// Replaced whole, never changed: a walk calls the callbacks of the moment it fired. The GIL guards everything
// here.
struct Snapshot {
    std::vector<Callback> callbacks;
    uint32_t users = 1;      // one for being current
    bool observers = false;  // some take the whole record
};

struct HookState {
    Snapshot* current = nullptr;
    uint64_t fired = 0;
    uint64_t errors = 0;
};

HookState states[hook_count];
uint64_t numbers = 0;
thread_local bool in_callback = false;

void let_go(Snapshot* s) {
    if (!s || --s->users) return;
    for (Callback& c : s->callbacks) Py_DECREF(c.function);
    delete s;
}

// No record: fired by fire_callbacks(), for no device and not the end of a synchronization.
bool applies(const Callback& c, const HookRecord* r) {
    if (c.end != (r && r->end)) return false;
    if (c.device.type < 0) return true;
    return r && c.device.type == devices::family(r->device.type) &&
           (c.device.index < 0 || c.device.index == r->device.index);
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
    PyObject* made[most_arguments] = {};
    int made_count = 0;
    PyObject* record = nullptr;
    for (const Callback& c : s->callbacks) {
        if (!applies(c, r)) continue;
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
        const KeptException kept;
        finish_hook_record(record);
    }
    let_go(s);
}

class Bridge final : public hub::Listener {
  public:
    void on_hook(const HookRecord& record) override {
        if (in_callback) return;
        const int turn = take_gil();
        or_park([&record] { walk(record.hook, &record, nullptr, 0); });
        // KeyboardInterrupt and SystemExit go to the main thread: from a worker, and from the end of work, which may be
        // found out inside any call, with more hooks and work to run before that returns.
        const bool elsewhere = thread_context.core_thread || record.hook == Hook::work_completion;
        if (elsewhere && PyErr_Occurred()) send_to_main_thread();
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

// Fires the hook with a record that is made from the arguments of fire_callbacks.
void fire_from_arguments(Hook hook, PyObject* const* args, int nargs, bool with_native) {
    GivenRecord given;
    read_arguments(hook, args, nargs, given);
    walk(hook, &given.r, args, nargs);
    if (with_native && !PyErr_Occurred()) hub::fire_except(given.r, &bridge);
}

PyObject* m_fire(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
    const Hook hook = ((Registry*)self)->hook;
    if (!hub::listening(hook)) Py_RETURN_NONE;
    const HookArity& arity = arity_of(hook);
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

PyObject* g_name(PyObject* self, void*) {
    return PyUnicode_FromString(hub::name(((Registry*)self)->hook).data());
}

PyMethodDef methods[] = {
    {"fire_callbacks", (PyCFunction)(void (*)(void))m_fire, METH_FASTCALL,
     "fire_callbacks($self, *args)\n--\n\nCalls all listeners of this hook, as the runtime does."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef getset[] = {{"name", g_name, nullptr, "The name of the hook.", nullptr},
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

PyObject* list_callbacks(Hook hook) {
    PyObject* list = PyList_New(0);
    Snapshot* s = states[unsigned(hook)].current;
    if (!list || !s) return list;
    ++s->users;  // a garbage collection in between may replace it
    for (const Callback& c : s->callbacks)
        if (list && !c.observer && PyList_Append(list, c.function) < 0) Py_CLEAR(list);
    let_go(s);
    return list;
}

HookStatistics hook_statistics(Hook hook) {
    const HookState& s = states[unsigned(hook)];
    return {s.current ? s.current->callbacks.size() : 0, s.fired, s.errors};
}

void fire_native(const HookRecord& record) {
    hub::fire_except(record, &bridge);
}

void callbacks_after_fork_in_child() {
    in_callback = false;
}

}  // namespace eventide::python
