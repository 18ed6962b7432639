// Clocks: how those of devices relate to the trace's, and the estimator itself.
#include <nanobind/stl/string.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bindings/base/bind.hpp"
#include "runtime/clock_model.hpp"
#include "runtime/device.hpp"

namespace nb = nanobind;

namespace eventide::python {
namespace {

nb::dict state_of(const ClockModel& clock) {
    const ClockModel::State s = clock.state();
    nb::list anchors;
    for (const auto& a : s.anchors) anchors.append(nb::make_tuple(a.device - a.offset, a.offset, a.error));
    nb::dict out;
    out["samples"] = s.samples;
    out["drift"] = s.drift;
    out["wander"] = s.wander;
    out["anchors"] = anchors;
    return out;
}

}  // namespace

void bind_clock(nb::module_& m) {
    nb::class_<ClockModel>(m, "ClockModel", "What a clock shows, on CLOCK_MONOTONIC, with a bound on the error.")
        .def(nb::init<>())
        .def(
            "add", [](ClockModel& c, int64_t before, int64_t device, int64_t after) { c.add({before, device, after}); },
            nb::arg("before"), nb::arg("device"), nb::arg("after"),
            "A reading of the clock between two of CLOCK_MONOTONIC.")
        .def(
            "at",
            [](const ClockModel& c, int64_t device) {
                const auto e = c.at(device);
                return nb::make_tuple(e.host, e.error);
            },
            nb::arg("device"), "(CLOCK_MONOTONIC ns, the largest error; -1: there was no reading).")
        .def("state", state_of, "samples, drift, wander, anchors: (CLOCK_MONOTONIC ns, offset, error) each.");
    m.def(
        "device_clock",
        [](const std::string& type, int index, bool sample) -> nb::object {
            Device* d = devices::find(type);
            if (!d) throw Error(ErrorKind::value, "there is no device type '" + type + "'");
            ClockModel* clock = d->clock(index);
            if (!clock) return nb::none();
            if (sample) d->sample_clock(index, *clock, 8);
            return state_of(*clock);
        },
        nb::arg("device_type"), nb::arg("index"), nb::arg("sample"),
        "The state of a device's clock, after new samples if `sample`; None where it needs no mapping.");
}

}  // namespace eventide::python
