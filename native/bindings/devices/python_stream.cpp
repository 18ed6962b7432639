#include "bindings/devices/python_stream.hpp"

#include <algorithm>
#include <ctime>

#include "runtime/stream.hpp"

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

class PythonStream final : public DeviceStream {
  public:
    PythonStream(Stream& stream, const Methods& methods, const std::string& type, PyObject* handle)
        : stream_(stream), m_(methods), type_(type), handle_(handle) {}
    ~PythonStream() override { drop_later(handle_); }

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
        if (marker.stream().device_id.type != stream_.device_id.type) return bridge(call, marker);
        PyObject* r = call(m_.wait, {handle_, (PyObject*)marker.handle});
        if (r == Py_NotImplemented) {  // two drivers under one name: they do not know each other's markers
            Py_DECREF(r);
            return bridge(call, marker);
        }
        finish(call, "wait", r);
    }

    void flush() override {
        if (!m_.flushes) return;
        Call call;
        finish(call, "flush", call(m_.flush, {handle_}));
    }

    MarkerState poll(Marker& marker) override {
        Call call;
        PyObject* r = call(m_.poll, {(PyObject*)marker.handle});
        const long state = r ? PyLong_AsLong(r) : -1;
        if (interrupted()) {
            call.end();
            return MarkerState::pending;
        }
        const bool sane = state >= 0 && state <= 2 && !PyErr_Occurred();
        std::string error = sane ? "" : r && !PyErr_Occurred() ? "gave no MarkerState" : "raised " + take_error();
        Py_XDECREF(r);
        call.end();
        if (!sane) throw Error(ErrorKind::device, "poll() of device '" + type_ + "' " + error);
        return MarkerState(state);
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
        if (interrupted()) return call.end();
        finish(call, "join", r);
    }

    Ref<Failure> failure(Marker& marker) override {
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

    bool reclaim(Work& work) override {
        Call call;
        auto* w = (DeviceWork*)work.device_data;
        const bool back = w && !w->ran;
        if (back) w->work = nullptr;
        call.end();
        return back;
    }

    void forget(Work& work) override {
        if (auto* w = (DeviceWork*)std::exchange(work.device_data, nullptr)) {
            w->work = nullptr;
            drop_later((PyObject*)w);
        }
    }

    uint64_t native_handle() const override {
        if (!m_.has_handles) return 0;
        Call call;
        PyObject* r = call(m_.native_handle, {handle_});
        const uint64_t value = r ? PyLong_AsUnsignedLongLong(r) : 0;
        if (PyErr_Occurred()) PyErr_WriteUnraisable(m_.native_handle);
        Py_XDECREF(r);
        call.end();
        return value;
    }
    void* host_object() const override { return handle_; }

    void finish() override {
        Call call;
        Py_XDECREF(call(m_.close_stream, {handle_}));
        if (PyErr_Occurred()) PyErr_WriteUnraisable(m_.close_stream);
        call.end();
    }

  private:
    // Ctrl-C came while the backend's code ran: that is not the marker's failure. It goes on to the main thread.
    static bool interrupted() {
        if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_Exception)) return false;
        send_to_main_thread();
        return true;
    }

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

    Stream& stream_;
    const Methods& m_;
    const std::string& type_;
    PyObject* const handle_;
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

}  // namespace

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

std::unique_ptr<DeviceStream> make_python_stream(Stream& stream, const Methods& methods, const std::string& type,
                                                 PyObject* handle) {
    return std::make_unique<PythonStream>(stream, methods, type, handle);
}

PyTypeObject* make_device_work_type() {
    return work_type = (PyTypeObject*)PyType_FromSpec(&work_spec);
}

}  // namespace eventide::python
