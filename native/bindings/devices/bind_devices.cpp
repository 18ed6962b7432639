// Devices: what there is and what each can do.
#include <nanobind/stl/string.h>

#include "bindings/base/bind.hpp"
#include "bindings/devices/python_device.hpp"
#include "bindings/devices/python_stream.hpp"
#include "bindings/types/current.hpp"
#include "bindings/types/hot_stream.hpp"
#include "devices/cpu.hpp"
#include "devices/plugin.hpp"
#include "runtime/device.hpp"
#include "runtime/stream.hpp"

namespace nb = nanobind;

namespace eventide::python {
namespace {

Device& device_of(const std::string& type) {
    if (Device* d = devices::find(type)) return *d;
    throw Error(ErrorKind::value, "there is no device type '" + type + "'");
}

}  // namespace

void bind_devices(nb::module_& m) {
    register_cpu_device();
    PyTypeObject* work = make_device_work_type();
    if (!work) nb::raise_python_error();
    m.attr("DeviceWork") = nb::borrow((PyObject*)work);
    m.def(
        "device_types",
        [] {
            return as_verb([] {
                nb::list out;
                for (Device* d : devices::all()) out.append(nb::make_tuple(nb::str(d->type().c_str()), d->count()));
                return out;
            });
        },
        "(type, count) of every registered device type.");
    m.def(
        "device_capabilities",
        [](const std::string& type, int index) {
            const Capabilities c = as_verb([&] { return device_of(type).capabilities(index); });
            nb::dict out;
            out["deferred"] = c.deferred;
            out["timing"] = c.timing;
            out["join_timeout"] = c.join_timeout;
            out["gate"] = c.gate;
            out["copy"] = c.copy;
            out["host_visible"] = c.host_visible;
            out["concurrent"] = c.concurrent;
            out["priorities"] = c.priorities;
            out["default_stream_blocks"] = c.default_stream_blocks;
            out["heals"] = c.heals;
            out["clock"] = c.clock;
            return out;
        },
        nb::arg("device_type"), nb::arg("index"));
    m.def(
        "device_load", [](const std::string& path, const std::string& name) { return plugin::load(path, name); },
        nb::arg("path"), nb::arg("name"), "Loads a device from a shared library; returns its type.");
    m.def(
        "cpu_table", [] { return uint64_t(&cpu_table()); },
        "The address of the cpu device's table of eventide/device.h, for other runtimes that use it.");
    m.def(
        "device_unregister", [](const std::string& type) { devices::remove(type); }, nb::arg("device_type"),
        "Makes a device type unknown again; it must have no streams.");
    m.def(
        "device_register",
        [](const std::string& type, nb::object backend) {
            as_verb([&] {
                register_python_device(type, backend.ptr());
                return true;
            });
        },
        nb::arg("device_type"), nb::arg("backend"), "Registers a DeviceBackend for the life of the process.");
    m.def(
        "device_description",
        [](const std::string& type, int index) { return as_verb([&] { return device_of(type).description(index); }); },
        nb::arg("device_type"), nb::arg("index"));
}

}  // namespace eventide::python
