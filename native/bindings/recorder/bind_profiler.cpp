// What backends report to profiles; see eventide/profiler.h.
#include <string>

#include "bindings/base/bind.hpp"
#include "bindings/base/utf8.hpp"
#include "profiler/profiler.hpp"
#include "profiler/torch_device.hpp"

namespace nb = nanobind;

namespace eventide::python {

void bind_profiler(nb::module_& m) {
    profiler::publish_table();
    m.def("profiler_request", &profiler::request, nb::arg("what"),
          "Sets what backends are to report to the running profiles, as bits.");
    m.def("profiler_record", &profiler::record, nb::arg("runs"),
          "A recording that is not of a profile runs, or no longer: backends report events and memory.");
    m.def(
        "profiler_connect", &profiler::connect_loaded,
        "Connects the shared objects that were loaded before this one and use eventide/profiler.h; returns how many.");
    m.def(
        "torch_device_types",
        [] {
            nb::list names;
            for (const std::string_view name : torch_device_types) names.append(nb::str(name.data(), name.size()));
            return names;
        },
        nb::sig("def torch_device_types() -> list[str]"), "c10::DeviceType, by its numbers.");
    m.def(
        "torch_device",
        [](nb::str name) {
            const auto [type, index] = torch_device(name.c_str());
            return nb::make_tuple(type, index);
        },
        nb::arg("name"), nb::sig("def torch_device(name: str) -> tuple[int, int]"),
        "A device as torch's files number it.");
    m.def("profiler_refused", &profiler::refused, "The number of events from C that were refused for an invalid time.");
    m.def(
        "profiler_event",
        [](int64_t start_us, int64_t end_us, int64_t debug_handle, nb::handle name, nb::handle backend) {
            return profiler::backend_event(start_us, end_us, debug_handle, utf8(name.ptr()), utf8(backend.ptr()));
        },
        nb::arg("start_us"), nb::arg("end_us"), nb::arg("debug_handle"), nb::arg("name"), nb::arg("backend"));
    m.def(
        "profiler_memory_event",
        [](uint64_t address, int64_t size, uint64_t allocated, uint64_t reserved, nb::handle device, int64_t at_ns) {
            profiler::backend_memory_event(address, size, allocated, reserved, utf8(device.ptr()), at_ns);
        },
        nb::arg("address"), nb::arg("size"), nb::arg("allocated"), nb::arg("reserved"), nb::arg("device"),
        nb::arg("at_ns") = 0);
    m.def(
        "profiler_clock",
        [](nb::handle backend, int64_t before_us, int64_t backend_us, int64_t after_us) {
            profiler::backend_clock(utf8(backend.ptr()), before_us, backend_us, after_us);
        },
        nb::arg("backend"), nb::arg("before_us"), nb::arg("backend_us"), nb::arg("after_us"));
}

}  // namespace eventide::python
