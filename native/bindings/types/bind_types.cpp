// The plain C types, the Python classes built on them, and the current stream.
#include "bindings/base/bind.hpp"
#include "bindings/base/live_failures.hpp"
#include "bindings/hooks/hot_hooks.hpp"
#include "bindings/types/current.hpp"
#include "bindings/types/failure_cycles.hpp"
#include "bindings/types/hot_event.hpp"
#include "bindings/types/hot_future.hpp"
#include "bindings/types/hot_pool.hpp"
#include "bindings/types/hot_stream.hpp"
#include "bindings/types/hot_ticket.hpp"
#include "runtime/device.hpp"

namespace nb = nanobind;

namespace eventide::python {
namespace {

void add(nb::module_& m, const char* name, PyTypeObject* type) {
    if (!type) nb::raise_python_error();
    m.attr(name) = nb::borrow((PyObject*)type);
}

// CPython's specialised call of a C method requires that self is exactly of the type that the method belongs to (12 ns
// a call).
void adopt_methods(PyTypeObject* cls) {
    PyTypeObject* native = cls->tp_base;
    while (native && !native->tp_methods) native = native->tp_base;
    for (PyMethodDef* m = native ? native->tp_methods : nullptr; m && m->ml_name; ++m) {
        if (PyDict_GetItemString(cls->tp_dict, m->ml_name)) continue;  // it has its own
        nb::object method = nb::steal(PyDescr_NewMethod(cls, m));
        if (!method.is_valid() || PyObject_SetAttrString((PyObject*)cls, m->ml_name, method.ptr()) < 0)
            nb::raise_python_error();
    }
}

DeviceId id_of(const char* type, int index) {
    Device* device = devices::find(type);
    if (!device) throw Error(ErrorKind::value, std::string("there is no device type '") + type + "'");
    return {device->number, int16_t(index)};
}

nb::object owned(PyObject* object) {
    if (!object) nb::raise_python_error();
    return nb::steal(object);
}

}  // namespace

void bind_types(nb::module_& m) {
    set_cycle_search(search_failure_cycles);
    add(m, "FutureBase", make_future_type());
    add(m, "StreamBase", make_stream_type());
    add(m, "EventBase", make_event_type());
    add(m, "EventPoolBase", make_pool_type());
    add(m, "RegistryBase", make_registry_type());
    add(m, "Ticket", make_ticket_type());

    m.def(
        "adopt_methods", [](nb::type_object cls) { adopt_methods((PyTypeObject*)cls.ptr()); }, nb::arg("cls"),
        "Gives a subclass of a native type its methods as its own: the interpreter's fast path for calls requires "
        "that.");
    m.def(
        "set_classes",
        [](nb::object load_future, nb::object event, nb::object work) {
            set_future_loader(load_future.ptr());
            set_event_class(event.ptr());
            set_work_class(work.ptr());
        },
        nb::arg("load_future"), nb::arg("event"), nb::arg("work"),
        "The Python classes that native code makes instances of; that of Future is fetched when first needed.");
    m.def(
        "set_stream_factories",
        [](nb::object make_default, nb::object rewrap) { set_stream_factories(make_default.ptr(), rewrap.ptr()); },
        nb::arg("make_default"), nb::arg("rewrap"), "How a default stream, or another handle on a stream, is made.");
    m.def(
        "current_stream", [](const char* type, int index) { return owned(current_stream(id_of(type, index))); },
        nb::arg("device_type"), nb::arg("index"));
    m.def(
        "default_stream", [](const char* type, int index) { return owned(default_stream(id_of(type, index))); },
        nb::arg("device_type"), nb::arg("index"));
    m.def(
        "stream_by_id", [](uint64_t id) { return owned(stream_by_id(id)); }, nb::arg("stream_id"),
        nb::sig("def stream_by_id(stream_id: int) -> Stream | None"),
        "The stream with that id; None if it no longer exists.");
    m.def(
        "set_stream",
        [](nb::object stream) {
            if (!is_stream(stream.ptr()))
                throw Error(ErrorKind::type,
                            std::string("set_stream needs a Stream, not ") + Py_TYPE(stream.ptr())->tp_name);
            if (!set_stream(stream.ptr())) nb::raise_python_error();
        },
        nb::arg("stream").none());
    m.def("current_device", [] {
        const DeviceId id = current_device();
        return nb::make_tuple(nb::str(devices::at(id.type).type().c_str()), int(id.index));
    });
}

}  // namespace eventide::python
