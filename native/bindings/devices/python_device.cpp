#include "bindings/devices/python_device.hpp"

#include <cstdint>
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
            Method method{name, PyObject_GetAttrString(backend, name), &type_};
            if (!method.function) method.fail();
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
        m_.flushes = is_own(m_.flush);
        m_.releases = is_own(m_.release);
        m_.allocates = is_own(m_.allocate);
        m_.joins = is_own(m_.join);
        m_.reads_clock = is_own(m_.read_clock);
        m_.has_now = is_own(m_.now);
        m_.has_handles = is_own(m_.native_handle);
    }

    std::string type() const override { return type_; }

    // Called at every lookup of a device of any type: an error is reported, and the count is 0.
    int count() const override {
        const Turn turn;
        try {
            return int(counted());
        } catch (const Error& e) {
            m_.count.report(e);
            return 0;
        }
    }

    Capabilities capabilities(int index) const override;

    std::string description(int index) const override {
        const Turn turn;
        const Owned i(PyLong_FromLong(index));
        const Owned r(m_.name({i}));
        const char* s = PyUnicode_Check(r) ? PyUnicode_AsUTF8(r) : nullptr;
        if (s) return s;
        PyErr_Clear();
        m_.name.refuse(r, "return a str");
    }

    std::unique_ptr<DeviceStream> open_stream(Stream& stream) override {
        const Turn turn;
        const Owned index(PyLong_FromLong(stream.options.index));
        const Owned priority(PyLong_FromLong(stream.options.priority));
        auto* existing = (PyObject*)stream.options.existing;
        return make_python_stream(stream, m_,
                                  existing ? m_.adopt_stream({index, existing}) : m_.open_stream({index, priority}));
    }

    void* allocate(int index, size_t bytes) override {
        if (!m_.allocates) return allocate_host(bytes);
        const Turn turn;
        const Owned i(PyLong_FromLong(index));
        const Owned n(PyLong_FromSize_t(bytes));
        const Owned r(m_.allocate({i, n}));
        void* address = PyLong_Check(r) ? PyLong_AsVoidPtr(r) : nullptr;
        if (!address && (!PyLong_Check(r) || PyErr_Occurred())) {
            PyErr_Clear();
            m_.allocate.refuse(r, "return the address as an int");
        }
        return address;
    }

    void free(int index, void* memory, size_t bytes) override {
        if (!m_.allocates) return std::free(memory);
        const Turn turn;
        const Owned i(PyLong_FromLong(index));
        const Owned address(PyLong_FromVoidPtr(memory));
        const Owned n(PyLong_FromSize_t(bytes));
        const Owned r(m_.free.or_report({i, address, n}));
    }

    bool read_clock(int index, ClockSample& s) override {
        if (!m_.reads_clock && !m_.has_now) return false;
        const Turn turn;
        const Owned i(PyLong_FromLong(index));
        const Method& method = m_.reads_clock ? m_.read_clock : m_.now;
        s.before = now_ns();
        const Owned r(method.or_report({i}));
        s.after = now_ns();
        if (!r || r == Py_None) return false;
        try {
            if (m_.reads_clock)
                s = sample_of(r);
            else
                s.device = method.integer(r, "return nanoseconds as an int");
        } catch (const Error& e) {
            method.report(e);
            return false;
        }
        return true;
    }

    // A backend whose capabilities() fails is refused when it is registered.
    void check() const {
        (void)capabilities(0);
        const Turn turn;
        (void)counted();
    }

  private:
    int64_t counted() const {
        const Owned r(m_.count({}));
        const int64_t n = m_.count.integer(r, "return how many there are, at least 0");
        if (n < 0 || n > INT16_MAX) m_.count.refuse(r, "return how many there are, at least 0");
        return n;
    }

    ClockSample sample_of(PyObject* r) const {
        constexpr const char* remedy = "return (before, device, after) in nanoseconds, or None";
        if (!PyTuple_Check(r) || PyTuple_GET_SIZE(r) != 3) m_.read_clock.refuse(r, remedy);
        auto part = [&](int n) { return m_.read_clock.integer(PyTuple_GET_ITEM(r, n), remedy); };
        return {part(0), part(1), part(2)};
    }

    // Whether the method is the backend's own, not the one of DeviceBackend that does nothing.
    static bool is_own(const Method& method) {
        PyObject* mark = PyObject_GetAttrString(method.function, "__eventide_default__");
        PyErr_Clear();
        Py_XDECREF(mark);
        return !mark;
    }

    const std::string type_;
    PyObject* const backend_;
    Methods m_;
};

Capabilities PythonDevice::capabilities(int index) const {
    constexpr const char* remedy = "return an eventide.Capabilities";
    const Turn turn;
    const Owned i(PyLong_FromLong(index));
    const Owned c(m_.capabilities({i}));
    auto part = [&](const char* name) {
        PyObject* value = or_park([&] { return PyObject_GetAttrString(c, name); });
        if (value) return value;
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) m_.capabilities.fail();
        PyErr_Clear();
        m_.capabilities.refuse(c, remedy);
    };
    auto flag = [&](const char* name) {
        const Owned value(part(name));
        const int on = or_park([&] { return PyObject_IsTrue(value); });
        if (on < 0) m_.capabilities.fail();
        return on == 1;
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
    const Owned clock(part("clock"));
    const char* s = PyUnicode_Check(clock) ? PyUnicode_AsUTF8(clock) : nullptr;
    if (!s) {
        PyErr_Clear();
        m_.capabilities.refuse(c, remedy);
    }
    out.clock = s;
    return out;
}

}  // namespace

void register_python_device(const std::string& type, PyObject* backend) {
    auto device = std::make_unique<PythonDevice>(type, backend);
    device->check();
    devices::add(std::move(device));
}

}  // namespace eventide::python
