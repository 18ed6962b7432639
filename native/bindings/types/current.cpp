#include "bindings/types/current.hpp"

#include <map>
#include <utility>
#include <vector>

#include "base/context.hpp"
#include "bindings/types/hot_stream.hpp"
#include "runtime/device.hpp"
#include "runtime/stream.hpp"

namespace eventide::python {
namespace {

// The work that runs on this thread, if any: what was chosen outside of it does not count inside.
struct Inside {
    const Stream* stream = thread_context.running;
    uint64_t position = thread_context.position;
    bool operator==(const Inside&) const = default;
};

// What one `with stream:` makes current, and what set_stream chose inside it. Owned.
struct Frame {
    PyObject* entered = nullptr;    // nullptr: outside of every `with`
    std::vector<PyObject*> chosen;  // at most one per device, latest last
    Inside inside;

    void drop() {
        Py_XDECREF(entered);
        for (PyObject* s : chosen) Py_DECREF(s);
    }
};

struct ThreadStreams {
    std::vector<Frame> frames;  // innermost last
};

thread_local ThreadStreams* mine = nullptr;  // owned by a capsule in the thread state, which is freed with the GIL held
PyObject* make_default = nullptr;
PyObject* rewrap_stream = nullptr;
std::map<std::pair<int16_t, int16_t>, PyObject*> defaults;

void drop_thread_streams(PyObject* capsule) {
    auto* t = static_cast<ThreadStreams*>(PyCapsule_GetPointer(capsule, nullptr));
    if (mine == t) mine = nullptr;
    for (Frame& f : t->frames) f.drop();
    delete t;
}

ThreadStreams* thread_streams() {
    if (mine) return mine;
    PyObject* dict = PyThreadState_GetDict();
    if (!dict) {
        PyErr_SetString(PyExc_RuntimeError, "this thread has no Python state");
        return nullptr;
    }
    auto* t = new ThreadStreams;
    PyObject* capsule = PyCapsule_New(t, nullptr, drop_thread_streams);
    if (!capsule) {
        delete t;
        return nullptr;
    }
    const int rc = PyDict_SetItemString(dict, "eventide.current_streams", capsule);
    if (rc == 0) mine = t;
    Py_DECREF(capsule);
    return rc == 0 ? t : nullptr;
}

DeviceId device_of(PyObject* stream) {
    return stream_core(stream)->device_id;
}

// The frame that set_stream writes to: the innermost one of the running work, or a new one. Frames that earlier work of
// the same stream left are removed: that work is complete.
Frame& writable_frame(ThreadStreams& t) {
    const Inside now;
    if (!t.frames.empty() && t.frames.back().inside == now) return t.frames.back();
    std::vector<Frame> over;
    if (now.stream)
        for (size_t i = t.frames.size(); i-- > 0;)
            if (!t.frames[i].entered && t.frames[i].inside.stream == now.stream) {
                over.push_back(std::move(t.frames[i]));
                t.frames.erase(t.frames.begin() + long(i));
            }
    t.frames.push_back({nullptr, {}, now});
    for (Frame& f : over) f.drop();
    return t.frames.back();
}

PyObject* rewrap(Stream& core) {
    // At 0 references it is being deallocated: a subclass may run code there before the handle is taken back.
    auto* handle = (PyObject*)core.handle;
    if (handle && Py_REFCNT(handle) > 0) return Py_NewRef(handle);
    PyObject* capsule = PyCapsule_New(&core, "eventide.stream", nullptr);
    if (!capsule) return nullptr;
    PyObject* s = PyObject_CallOneArg(rewrap_stream, capsule);
    Py_DECREF(capsule);
    return s;
}

}  // namespace

PyObject* stream_by_id(uint64_t id) {
    const Ref<Stream> core = Stream::find(id);
    return core ? rewrap(*core) : Py_NewRef(Py_None);
}

bool push_stream(PyObject* stream) {
    ThreadStreams* t = thread_streams();
    if (t) t->frames.push_back({Py_NewRef(stream), {}, {}});
    return t;
}

bool pop_stream(PyObject* stream) {
    ThreadStreams* t = thread_streams();
    if (!t) return false;
    PyObject* last = nullptr;
    for (size_t i = t->frames.size(); i-- > 0 && !last;) last = t->frames[i].entered;
    const std::string innermost = last ? stream_core(last)->describe() : "no stream";
    for (size_t i = t->frames.size(); i-- > 0;) {
        if (t->frames[i].entered != stream) continue;
        Frame gone = std::move(t->frames[i]);
        t->frames.erase(t->frames.begin() + long(i));
        gone.drop();
        break;
    }
    if (last != stream)
        raise(ErrorKind::usage,
              "left 'with %s' while %s was entered last: two coroutines (or generators) held streams current across an "
              "await; "
              "name the stream in each call instead, as in event.record(stream)",
              stream_core(stream)->describe().c_str(), innermost.c_str());
    return last == stream;
}

bool set_stream(PyObject* stream) {
    ThreadStreams* t = thread_streams();
    if (!t) return false;
    std::vector<PyObject*>& chosen = writable_frame(*t).chosen;
    chosen.push_back(Py_NewRef(stream));
    for (size_t i = 0; i + 1 < chosen.size(); ++i) {
        if (device_of(chosen[i]) != device_of(stream)) continue;
        PyObject* old = chosen[i];
        chosen.erase(chosen.begin() + long(i));
        Py_DECREF(old);
        break;
    }
    return true;
}

// The first stream that `accept` takes, from the innermost frame out; borrowed, or nullptr.
template <class Accept>
PyObject* find_chosen(Accept accept) {
    if (!mine) return nullptr;
    const Inside now;
    for (size_t i = mine->frames.size(); i-- > 0;) {
        const Frame& f = mine->frames[i];
        if (f.inside != now) continue;
        for (size_t k = f.chosen.size(); k-- > 0;)
            if (accept(f.chosen[k])) return f.chosen[k];
        if (f.entered && accept(f.entered)) return f.entered;
    }
    return nullptr;
}

DeviceId current_device() {
    if (PyObject* s = find_chosen([](PyObject*) { return true; })) return device_of(s);
    if (thread_context.running) return thread_context.running->device_id;
    return {0, 0};
}

PyObject* current_stream(DeviceId device) {
    if (device.type < 0) device = current_device();
    if (device.index < 0) device.index = 0;
    if (PyObject* s = find_chosen([device](PyObject* s) { return device_of(s) == device; })) return Py_NewRef(s);
    if (thread_context.running && thread_context.running->device_id == device) return rewrap(*thread_context.running);
    return default_stream(device);
}

void set_stream_factories(PyObject* make, PyObject* rewrap) {
    Py_XSETREF(make_default, Py_NewRef(make));
    Py_XSETREF(rewrap_stream, Py_NewRef(rewrap));
}

PyObject* default_stream(DeviceId device) {
    if (device.index < 0) device.index = 0;
    const std::pair<int16_t, int16_t> key{device.type, device.index};
    if (auto it = defaults.find(key); it != defaults.end() && !stream_core(it->second)->closed())
        return Py_NewRef(it->second);
    if (!make_default) {
        PyErr_SetString(PyExc_RuntimeError, "eventide is not fully imported");
        return nullptr;
    }
    PyObject* made =
        PyObject_CallFunction(make_default, "si", devices::at(device.type).type().c_str(), int(device.index));
    if (!made) return nullptr;
    PyObject*& place = defaults[key];  // making it may have let another thread in: the first one stays
    if (place && !stream_core(place)->closed()) {
        Py_DECREF(made);
        return Py_NewRef(place);
    }
    PyObject* old = place;
    place = made;
    Py_XDECREF(old);
    return Py_NewRef(place);
}

void current_after_fork_in_child() {
    defaults.clear();  // leaked: they are the parent's
    if (mine) *mine = {};
}

}  // namespace eventide::python
