#include "bindings/devices/python_device.hpp"

#include <cstdlib>

#include "base/clock.hpp"
#include "bindings/devices/python_stream.hpp"
#include "devices/host_memory.hpp"
#include "runtime/device.hpp"
#include "runtime/stream.hpp"

namespace eventide::python {
namespace {

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
              get("read_clock"),
              get("native_handle"),
              get("adopt_stream"),
              false,
              false,
              false,
              false,
              false,
              false,
              false};
        m_.flushes = overrides("flush");
        m_.releases = overrides("release");
        m_.allocates = overrides("allocate");
        m_.joins = overrides("join");
        m_.reads_clock = overrides("read_clock");
        m_.tells_time = overrides("now");
        m_.has_handles = overrides("native_handle");
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
        auto* existing = (PyObject*)stream.options.existing;
        PyObject* handle =
            existing ? call(m_.adopt_stream, {index, existing}) : call(m_.open_stream, {index, priority});
        std::string error = handle ? "" : take_error();
        Py_XDECREF(index);
        Py_XDECREF(priority);
        call.end();
        const char* method = existing ? "adopt_stream" : "open_stream";
        if (!handle)
            throw Error(ErrorKind::device, std::string(method) + "() of device '" + type_ + "' raised " + error);
        return make_python_stream(stream, m_, type_, handle);
    }

    void* allocate(int index, size_t bytes) override {
        if (!m_.allocates) return allocate_host(bytes);
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

    bool read_clock(int index, ClockSample& s) override {
        if (!m_.reads_clock && !m_.tells_time) return false;
        Call call;
        PyObject* i = PyLong_FromLong(index);
        s.before = now_ns();
        PyObject* r = call(m_.reads_clock ? m_.read_clock : m_.now, {i});
        s.after = now_ns();
        bool ok = r && r != Py_None;
        long long before, device, after;
        if (ok && !m_.reads_clock) {
            s.device = PyLong_AsLongLong(r);
        } else if (ok &&
                   PyArg_ParseTuple(r, "LLL;read_clock() gives (before, device, after)", &before, &device, &after)) {
            s = {before, device, after};
        }
        if (PyErr_Occurred()) {
            ok = false;
            PyErr_WriteUnraisable(m_.reads_clock ? m_.read_clock : m_.now);
        }
        Py_XDECREF(r);
        Py_XDECREF(i);
        call.end();
        return ok;
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

void register_python_device(const std::string& type, PyObject* backend) {
    auto device = std::make_unique<PythonDevice>(type, backend);
    (void)device->capabilities(0);  // one that cannot say what it can do is refused now
    devices::add(std::move(device));
}

}  // namespace eventide::python
