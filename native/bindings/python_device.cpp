#include "python_device.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "../core/device.hpp"
#include "../core/stream.hpp"

namespace eventide::python {
namespace {

PyTypeObject* work_type = nullptr;

// What submit() of a backend gets. Dead once the core is through with the work.
struct DeviceWork {
    PyObject_HEAD;
    Work* work;
    Stream* stream;
    bool ran;
};

PyObject* work_run(PyObject* self, PyObject*) {
    auto* w = (DeviceWork*)self;
    if (!w->work || w->ran) return raise(ErrorKind::usage, "this work was run already; a device runs each work once");
    w->ran = true;
    w->stream->execute(*w->work);
    Py_RETURN_NONE;
}

PyObject* work_name(PyObject* self, void*) {
    auto* w = (DeviceWork*)self;
    return PyUnicode_FromString(w->work ? w->work->name().c_str() : "");
}

PyObject* work_duration(PyObject* self, void*) {
    auto* w = (DeviceWork*)self;
    const double seconds = w->work ? w->work->duration() : -1;
    return seconds < 0 ? Py_NewRef(Py_None) : PyFloat_FromDouble(seconds);
}

void work_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

PyMethodDef work_methods[] = {
    {"run", work_run, METH_NOARGS,
     "run($self)\n--\n\nRuns the work, once, on this thread. Never raises what the work raises."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef work_getset[] = {
    {"name", work_name, nullptr, "What people call it.", nullptr},
    {"duration", work_duration, nullptr, "The seconds it declares to take, or None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot work_slots[] = {
    {Py_tp_dealloc, (void*)work_dealloc},
    {Py_tp_methods, work_methods},
    {Py_tp_getset, work_getset},
    {Py_tp_doc, (void*)"Work, as a device sees it."},
    {0, nullptr},
};
PyType_Spec work_spec = {"eventide._native.DeviceWork", sizeof(DeviceWork), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, work_slots};

// The bound methods of a backend, for the life of the process.
struct Methods {
    PyObject *open_stream, *close_stream, *submit, *make_marker, *wait, *flush, *poll, *error, *join, *completed_at,
        *release, *gate, *open, *allocate, *free, *now, *count, *capabilities, *name;
    bool flushes, releases, allocates, joins;
};

// The current exception as a text; cleared.
std::string take_error() {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    std::string text = value ? Py_TYPE(value)->tp_name : "an unknown error";
    PyObject* said = value ? PyObject_Str(value) : nullptr;
    if (const char* s = said ? PyUnicode_AsUTF8(said) : nullptr) text += std::string(": ") + s;
    Py_XDECREF(said);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    PyErr_Clear();
    return text;
}

// The GIL for a call into the backend. Explicit, not a guard: see python.hpp.
struct Call {
    int how = take_gil();
    PyObject* operator()(PyObject* method, std::initializer_list<PyObject*> args) const {
        return PyObject_Vectorcall(method, args.begin(), args.size(), nullptr);
    }
    void end() const { give_gil(how); }
};

class PythonStream final : public DeviceStream {
  public:
    PythonStream(Stream& stream, const Methods& methods, const std::string& type, PyObject* handle)
        : stream_(stream), m_(methods), type_(type), handle_(handle) {}
    ~PythonStream() override { drop_later(handle_); }

    bool polled() const override { return true; }

    void submit(Work& work) override {
        Call call;
        auto* w = (DeviceWork*)work_type->tp_alloc(work_type, 0);
        w->work = &work;
        w->stream = &stream_;
        work.device_data = w;
        finish(call, "submit", call(m_.submit, {handle_, (PyObject*)w}));
    }

    void mark(Marker& marker) override {
        Call call;
        PyObject* made = call(m_.make_marker, {handle_, marker.timing() ? Py_True : Py_False});
        marker.handle = uint64_t(Py_XNewRef(made));
        finish(call, "make_marker", made);
    }

    void wait(Marker& marker, uint64_t) override {
        Call call;
        if (marker.stream().device_id.type == stream_.device_id.type)
            finish(call, "wait", call(m_.wait, {handle_, (PyObject*)marker.handle}));
        else
            bridge(call, marker);
    }

    void flush() override {
        if (!m_.flushes) return;
        Call call;
        finish(call, "flush", call(m_.flush, {handle_}));
    }

    MarkerState poll(Marker& marker) override {
        if (failed_to_ask(marker)) return MarkerState::failed;
        Call call;
        PyObject* r = call(m_.poll, {(PyObject*)marker.handle});
        const long state = r ? PyLong_AsLong(r) : -1;
        Py_XDECREF(r);
        if (PyErr_Occurred() || state < 0 || state > 2) remember(marker, "poll");
        call.end();
        return state < 0 || state > 2 ? MarkerState::failed : MarkerState(state);
    }

    void join(Marker& marker, int64_t ns) override {
        if (!m_.joins) {
            const timespec pause{0, long(std::min<int64_t>(ns, 200'000))};
            nanosleep(&pause, nullptr);
            return;
        }
        Call call;
        PyObject* seconds = PyFloat_FromDouble(double(ns) * 1e-9);
        PyObject* r = call(m_.join, {(PyObject*)marker.handle, seconds});
        Py_XDECREF(seconds);
        Py_XDECREF(r);
        if (PyErr_Occurred()) remember(marker, "join");
        call.end();
    }

    Ref<Failure> failure(Marker& marker) override {
        {
            std::lock_guard lock(broken_lock_);
            if (broken_marker_ == &marker) {
                broken_marker_ = nullptr;
                return Ref<Failure>(new Failure(broken_));
            }
        }
        Call call;
        Ref<Failure> out;
        PyObject* r = call(m_.error, {(PyObject*)marker.handle});
        if (r && PyExceptionInstance_Check(r))
            out = Ref<Failure>(new PythonFailure(r));
        else if (!r)
            out = Ref<Failure>(new Failure("error() of device '" + type_ + "' raised " + take_error()));
        Py_XDECREF(r);
        call.end();
        return out;
    }

    int64_t completed_at(Marker& marker) override { return integer(m_.completed_at, (PyObject*)marker.handle); }

    int64_t now() override {
        Call call;
        PyObject* index = PyLong_FromLong(stream_.device_id.index);
        call.end();
        const int64_t t = integer(m_.now, index);
        drop_later(index);
        return t;
    }

    void forget(Marker& marker) override {
        auto* handle = (PyObject*)marker.handle;
        if (!handle) return;
        if (m_.releases) {
            Call call;
            Py_XDECREF(call(m_.release, {handle}));
            if (PyErr_Occurred()) PyErr_WriteUnraisable(m_.release);
            call.end();
        }
        drop_later(handle);
    }

    void forget(Work& work) override {
        if (auto* w = (DeviceWork*)std::exchange(work.device_data, nullptr)) {
            w->work = nullptr;
            drop_later((PyObject*)w);
        }
    }

    void finish() override {
        Call call;
        Py_XDECREF(call(m_.close_stream, {handle_}));
        if (PyErr_Occurred()) PyErr_WriteUnraisable(m_.close_stream);
        call.end();
    }

  private:
    // Ends the call; what the backend raised becomes a DeviceError of the verb.
    void finish(const Call& call, const char* method, PyObject* result) {
        std::string error;
        if (!result) error = take_error();
        Py_XDECREF(result);
        call.end();
        if (!error.empty())
            throw Error(ErrorKind::device, std::string(method) + "() of device '" + type_ + "' raised " + error);
    }

    // A marker of another device type: the host holds this stream until it has ended.
    void bridge(const Call& call, Marker& marker);

    int64_t integer(PyObject* method, PyObject* argument) {
        Call call;
        PyObject* r = call(method, {argument});
        const int64_t value = r ? PyLong_AsLongLong(r) : 0;
        Py_XDECREF(r);
        if (PyErr_Occurred()) PyErr_WriteUnraisable(method);
        call.end();
        return value;
    }

    // poll or join raised: that marker has failed with it.
    void remember(Marker& marker, const char* method) {
        std::string text = PyErr_Occurred() ? " raised " + take_error() : " gave no MarkerState";
        std::lock_guard lock(broken_lock_);
        broken_marker_ = &marker;
        broken_ = std::string(method) + "() of device '" + type_ + "'" + text;
    }
    bool failed_to_ask(Marker& marker) {
        std::lock_guard lock(broken_lock_);
        return broken_marker_ == &marker;
    }

    Stream& stream_;
    const Methods& m_;
    const std::string& type_;
    PyObject* const handle_;
    std::mutex broken_lock_;
    Marker* broken_marker_ = nullptr;
    std::string broken_;
};

class OpenTask final : public Task {
  public:
    OpenTask(PyObject* open, PyObject* token) : open_(open), token_(token) {}
    ~OpenTask() override { Py_DECREF(token_); }
    void run() override {
        PyObject* r = PyObject_CallOneArg(open_, token_);
        if (!r) PyErr_WriteUnraisable(open_);
        Py_XDECREF(r);
    }

  private:
    PyObject* const open_;
    PyObject* const token_;
};

void PythonStream::bridge(const Call& call, Marker& marker) {
    PyObject* token = call(m_.gate, {handle_});
    Task* task = token ? new OpenTask(m_.open, Py_NewRef(token)) : nullptr;
    if (task && !marker.when_ended(task)) {
        task->run();
        delete task;
    }
    finish(call, "gate", token);
}

class PythonDevice final : public Device {
  public:
    PythonDevice(std::string type, PyObject* backend) : type_(std::move(type)), backend_(Py_NewRef(backend)) {
        auto get = [&](const char* name) {
            PyObject* method = PyObject_GetAttrString(backend, name);
            if (!method)
                throw Error(ErrorKind::device, "device '" + type_ + "' has no method " + name + ": " + take_error());
            return method;
        };
        m_ = {get("open_stream"),
              get("close_stream"),
              get("submit"),
              get("make_marker"),
              get("wait"),
              get("flush"),
              get("poll"),
              get("error"),
              get("join"),
              get("completed_at"),
              get("release"),
              get("gate"),
              get("open"),
              get("allocate"),
              get("free"),
              get("now"),
              get("count"),
              get("capabilities"),
              get("name"),
              false,
              false,
              false,
              false};
        m_.flushes = overrides("flush");
        m_.releases = overrides("release");
        m_.allocates = overrides("allocate");
        m_.joins = overrides("join");
    }

    std::string type() const override { return type_; }

    int count() const override {
        Call call;
        PyObject* r = call(m_.count, {});
        const long n = r ? PyLong_AsLong(r) : 0;
        Py_XDECREF(r);
        PyErr_Clear();
        call.end();
        return int(n);
    }

    Capabilities capabilities(int index) const override;

    std::string description(int index) const override {
        Call call;
        PyObject* i = PyLong_FromLong(index);
        PyObject* r = call(m_.name, {i});
        const char* s = r ? PyUnicode_AsUTF8(r) : nullptr;
        std::string out = s ? s : type_;
        PyErr_Clear();
        Py_XDECREF(r);
        Py_XDECREF(i);
        call.end();
        return out;
    }

    std::unique_ptr<DeviceStream> open_stream(Stream& stream) override {
        Call call;
        PyObject* index = PyLong_FromLong(stream.options.index);
        PyObject* priority = PyLong_FromLong(stream.options.priority);
        PyObject* handle = call(m_.open_stream, {index, priority});
        std::string error = handle ? "" : take_error();
        Py_XDECREF(index);
        Py_XDECREF(priority);
        call.end();
        if (!handle) throw Error(ErrorKind::device, "open_stream() of device '" + type_ + "' raised " + error);
        return std::make_unique<PythonStream>(stream, m_, type_, handle);
    }

    void* allocate(int index, size_t bytes) override {
        if (!m_.allocates) return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
        Call call;
        PyObject* i = PyLong_FromLong(index);
        PyObject* n = PyLong_FromSize_t(bytes);
        PyObject* r = call(m_.allocate, {i, n});
        void* address = r ? PyLong_AsVoidPtr(r) : nullptr;
        std::string error = PyErr_Occurred() ? take_error() : "";
        Py_XDECREF(r);
        Py_XDECREF(i);
        Py_XDECREF(n);
        call.end();
        if (!error.empty()) throw Error(ErrorKind::device, "allocate() of device '" + type_ + "' raised " + error);
        return address;
    }

    void free(int index, void* memory, size_t bytes) override {
        if (!m_.allocates) return std::free(memory);
        Call call;
        PyObject* r = PyObject_CallFunction(m_.free, "iKn", index, (unsigned long long)memory, Py_ssize_t(bytes));
        if (!r) PyErr_WriteUnraisable(m_.free);
        Py_XDECREF(r);
        call.end();
    }

  private:
    // Whether the backend's class has its own, not the one of DeviceBackend that only stands in.
    bool overrides(const char* name) const {
        PyObject* own = PyObject_GetAttrString((PyObject*)Py_TYPE(backend_), name);
        PyObject* inherited = own ? PyObject_GetAttrString(own, "__eventide_default__") : nullptr;
        PyErr_Clear();
        Py_XDECREF(own);
        const bool out = own && !inherited;
        Py_XDECREF(inherited);
        return out;
    }

    const std::string type_;
    PyObject* const backend_;
    Methods m_;
};

Capabilities PythonDevice::capabilities(int index) const {
    Call call;
    PyObject* i = PyLong_FromLong(index);
    PyObject* c = call(m_.capabilities, {i});
    Py_XDECREF(i);
    auto flag = [&](const char* name) {
        PyObject* value = c ? PyObject_GetAttrString(c, name) : nullptr;
        const bool on = value && PyObject_IsTrue(value) == 1;
        Py_XDECREF(value);
        return on;
    };
    Capabilities out{flag("deferred"),
                     flag("timing"),
                     flag("join_timeout"),
                     flag("gate"),
                     flag("copy"),
                     flag("host_visible"),
                     flag("concurrent"),
                     flag("priorities"),
                     flag("default_stream_blocks"),
                     flag("heals"),
                     ""};
    PyObject* clock = c ? PyObject_GetAttrString(c, "clock") : nullptr;
    if (const char* s = clock ? PyUnicode_AsUTF8(clock) : nullptr) out.clock = s;
    std::string error = PyErr_Occurred() ? take_error() : "";
    Py_XDECREF(clock);
    Py_XDECREF(c);
    call.end();
    if (!error.empty()) throw Error(ErrorKind::device, "capabilities() of device '" + type_ + "' raised " + error);
    return out;
}

}  // namespace

PyTypeObject* make_device_work_type() {
    return work_type = (PyTypeObject*)PyType_FromSpec(&work_spec);
}

void register_python_device(const std::string& type, PyObject* backend) {
    auto device = std::make_unique<PythonDevice>(type, backend);
    if (!device->capabilities(0).deferred)
        throw Error(
            ErrorKind::device,
            "device '" + type + "' is not deferred: devices that run work inside submit cannot be registered yet");
    devices::add(std::move(device));
}

}  // namespace eventide::python
