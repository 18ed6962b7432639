#include "bindings/devices/python_stream.hpp"

#include <algorithm>
#include <atomic>
#include <ctime>

#include "bindings/base/frames.hpp"
#include "runtime/stream.hpp"

namespace eventide::python {
namespace {

PyTypeObject* work_type = nullptr;

enum class Taken : uint8_t { no, to_run, back };

// The argument of submit() of a backend. Unusable once the core has ended the work.
struct DeviceWork {
    PyObject_HEAD;
    Work* work;  // until then; with the GIL
    Stream* stream;
    std::atomic<Taken> taken;

    // Claims the work: the first caller has it. Returns the state before.
    Taken take(Taken how) {
        Taken before = Taken::no;
        taken.compare_exchange_strong(before, how, std::memory_order_acq_rel);
        return before;
    }
};

PyObject* work_run(PyObject* self, PyObject*) {
    auto* w = (DeviceWork*)self;
    if (w->work && !process::is_current(w->stream->generation))
        return raise(Error(ErrorKind::stream, process::before_fork("this work")));
    const Taken before = w->take(Taken::to_run);
    if (before == Taken::to_run)
        return raise(ErrorKind::usage, "this work was run already; a device runs each work once");
    // Taken back because the device failed to make or to poll its marker: its Future has that error.
    if (before == Taken::no) w->stream->execute(*w->work);
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
    {"name", work_name, nullptr, "The name of the work, for messages.", nullptr},
    {"duration", work_duration, nullptr, "The seconds it declares to take, or None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot work_slots[] = {
    {Py_tp_dealloc, (void*)work_dealloc},
    {Py_tp_methods, work_methods},
    {Py_tp_getset, work_getset},
    {Py_tp_doc, (void*)"Work, as a device receives it."},
    {0, nullptr},
};
PyType_Spec work_spec = {"eventide._native.DeviceWork", sizeof(DeviceWork), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, work_slots};

class PythonStream final : public DeviceStream {
  public:
    PythonStream(Stream& stream, const Methods& methods, PyObject* handle)
        : stream_(stream), m_(methods), handle_(handle) {}
    ~PythonStream() override { drop_later(handle_); }

    void submit(Work& work) override {
        const Turn turn;
        auto* w = (DeviceWork*)work_type->tp_alloc(work_type, 0);
        if (!w) m_.submit.fail();
        w->work = &work;
        w->stream = &stream_;
        work.device_data = w;
        const Owned r(m_.submit({handle_, (PyObject*)w}));
    }

    void mark(Marker& marker) override {
        const Turn turn;
        Owned made(m_.make_marker({handle_, marker.timing() ? Py_True : Py_False}));
        if (made == Py_None) m_.make_marker.refuse(made, "return an object that poll() accepts");
        marker.handle = uint64_t(made.give());
    }

    void wait(Marker& marker, uint64_t) override {
        const Turn turn;
        if (marker.stream().device_id.type != stream_.device_id.type) return bridge(marker);
        const Owned r(m_.wait({handle_, (PyObject*)marker.handle}));
        if (r == Py_NotImplemented) bridge(marker);  // two drivers under one name cannot use each other's markers
    }

    void flush() override {
        if (!m_.flushes) return;
        const Turn turn;
        const Owned r(m_.flush({handle_}));
    }

    MarkerState poll(Marker& marker) override {
        constexpr const char* remedy = "return a MarkerState: PENDING, DONE or FAILED";
        const Turn turn;
        try {
            const Owned r(m_.poll({(PyObject*)marker.handle}));
            const int64_t state = m_.poll.integer(r, remedy);
            if (state < 0 || state > 2) m_.poll.refuse(r, remedy);
            if (MarkerState(state) == MarkerState::failed && !failure(marker))
                m_.poll.refuse(r, "and error() returned None: return from error() what went wrong");
            return MarkerState(state);
        } catch (const Interrupted&) {
            return MarkerState::pending;  // no failure of the marker, which can be polled again
        }
    }

    void join(Marker& marker, int64_t ns) override {
        if (!m_.joins) {
            const timespec pause{0, long(std::min<int64_t>(ns, 200'000))};
            nanosleep(&pause, nullptr);
            return;
        }
        const Turn turn;
        try {
            const Owned seconds(PyFloat_FromDouble(double(ns) * 1e-9));
            const Owned r(m_.join({(PyObject*)marker.handle, seconds}));
        } catch (const Interrupted&) {  // as in poll
        }
    }

    Ref<Failure> failure(Marker& marker) override {
        const Turn turn;
        const Owned r(m_.error({(PyObject*)marker.handle}));
        if (r == Py_None) return {};
        if (!PyExceptionInstance_Check(r)) m_.error.refuse(r, "return an exception or None");
        cut_caller(r, nullptr);  // the device may have caught it inside a call of the program
        return Ref<Failure>(new PythonFailure(r));
    }

    int64_t completed_at(Marker& marker) override {
        const Turn turn;
        const Owned r(m_.completed_at({(PyObject*)marker.handle}));
        return m_.completed_at.integer(r, "return nanoseconds as an int");
    }

    int64_t now() override {
        const Turn turn;
        const Owned index(PyLong_FromLong(stream_.device_id.index));
        try {
            const Owned r(m_.now({index}));
            return m_.now.integer(r, "return nanoseconds as an int");
        } catch (const Error& e) {  // the core continues without the time
            m_.now.report(e);
            throw;
        }
    }

    void forget(Marker& marker) override {
        auto* handle = (PyObject*)marker.handle;
        if (!handle) return;
        if (m_.releases) {
            const Turn turn;
            const Owned r(m_.release.or_report({handle}));
        }
        drop_later(handle);
    }

    bool reclaim(Work& work) override {
        auto* w = (DeviceWork*)work.device_data;
        return w && w->take(Taken::back) == Taken::no;
    }

    void forget(Work& work) override {
        if (auto* w = (DeviceWork*)std::exchange(work.device_data, nullptr)) {
            w->work = nullptr;
            drop_later((PyObject*)w);
        }
    }

    uint64_t native_handle() const override {
        if (!m_.has_handles) return 0;
        const Turn turn;
        const Owned r(m_.native_handle({handle_}));
        const uint64_t value = PyLong_Check(r) ? PyLong_AsUnsignedLongLong(r) : 0;
        if (PyLong_Check(r) && !PyErr_Occurred()) return value;
        PyErr_Clear();
        m_.native_handle.refuse(r, "return the handle as an int of 64 bits");
    }
    void* host_object() const override { return handle_; }

    void finish() override {
        const Turn turn;
        const Owned r(m_.close_stream.or_report({handle_}));
    }

  private:
    // A marker of another device type: the host holds this stream until it has ended.
    void bridge(Marker& marker);

    Stream& stream_;
    const Methods& m_;
    PyObject* const handle_;
};

class OpenTask final : public Task {
  public:
    OpenTask(const Method& open, Stream& stream, PyObject* token) : open_(open), stream_(&stream), token_(token) {}
    ~OpenTask() override {
        or_park([this] { Py_DECREF(token_); });
    }
    // The stream may be held forever if this fails: that is its error.
    void run() override {
        try {
            const Owned r(open_({token_}));
        } catch (const Error& e) {
            stream_->set_error(Ref<Failure>(new Failure(e.what())));
        }
    }
    int16_t device_type() const override { return stream_->device_id.type; }

  private:
    const Method& open_;
    const Ref<Stream> stream_;
    PyObject* const token_;
};

void PythonStream::bridge(Marker& marker) {
    auto* task = new OpenTask(m_.open, stream_, m_.gate({handle_}));
    if (marker.when_ended(task)) return;
    task->run();
    delete task;
}

}  // namespace

std::unique_ptr<DeviceStream> make_python_stream(Stream& stream, const Methods& methods, PyObject* handle) {
    return std::make_unique<PythonStream>(stream, methods, handle);
}

PyTypeObject* make_device_work_type() {
    return work_type = (PyTypeObject*)PyType_FromSpec(&work_spec);
}

}  // namespace eventide::python
