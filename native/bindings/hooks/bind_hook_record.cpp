// HookRecord: what an observer receives. A copy of the core's record, with the Python stack on demand.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <vector>

#include "bindings/base/bind.hpp"
#include "bindings/hooks/hot_hooks.hpp"
#include "runtime/device.hpp"

namespace nb = nanobind;

namespace eventide::python {
namespace {

struct PyHookRecord {
    HookRecord r;
    std::string name;
    std::string group;
    std::vector<Access> reads;
    std::vector<Access> writes;
    nb::object frame;  // innermost Python frame while the observer runs; afterwards none
    nb::object stack;  // tuple once it was read, or once the record is kept

    nb::tuple ranges(const std::vector<Access>& accesses) const {
        nb::list out;
        for (const Access& a : accesses) out.append(nb::make_tuple(a.address, a.bytes));
        return nb::tuple(out);
    }

    void read_stack() {
        if (stack.is_valid()) return;
        nb::list out;
        for (nb::object f = frame; f.is_valid();) {
            auto* raw = (PyFrameObject*)f.ptr();
            nb::object code = nb::steal((PyObject*)PyFrame_GetCode(raw));
            out.append(nb::make_tuple(code.attr("co_filename"), PyFrame_GetLineNumber(raw), code.attr("co_qualname")));
            f = nb::steal((PyObject*)PyFrame_GetBack(raw));
        }
        stack = nb::tuple(out);
    }
};

const char* outcome_name(Outcome o) {
    switch (o) {
        case Outcome::none:
            break;
        case Outcome::ok:
            return "ok";
        case Outcome::failed:
            return "failed";
        case Outcome::skipped:
            return "skipped";
        case Outcome::cancelled:
            return "cancelled";
    }
    return "";
}

}  // namespace

void bind_hook_record(nb::module_& m) {
    using R = PyHookRecord;
    nb::class_<R>(m, "HookRecord", "What happened at a hook. Fields that do not apply are 0, empty or None.")
        .def_prop_ro("hook", [](const R& x) { return std::string(hub::name(x.r.hook)); })
        .def_prop_ro(
            "end", [](const R& x) { return x.r.end; }, "True for the end of a synchronization.")
        .def_prop_ro(
            "outcome", [](const R& x) { return outcome_name(x.r.outcome); },
            "Of completed work: ok, failed, skipped, cancelled; of the end of a synchronization too.")
        .def_prop_ro(
            "time_ns", [](const R& x) { return x.r.time_ns; }, "CLOCK_MONOTONIC.")
        .def_prop_ro(
            "thread", [](const R& x) { return x.r.thread; }, "The system's id of the thread.")
        .def_prop_ro(
            "device",
            [](const R& x) {
                return x.r.device.type < 0 ? std::nullopt : std::optional<std::string>(devices::name(x.r.device));
            },
            "Such as 'cpu:0'.")
        .def_prop_ro("stream", [](const R& x) { return x.r.stream; })
        .def_prop_ro("event", [](const R& x) { return x.r.event; })
        .def_prop_ro(
            "version", [](const R& x) { return x.r.version == hub::newest_version ? 0 : x.r.version; },
            "Of the event; 0: never recorded, or unknown.")
        .def_prop_ro("work", [](const R& x) { return x.r.work; })
        .def_prop_ro(
            "name", [](const R& x) { return x.name; }, "Of the work, stream or collective.")
        .def_prop_ro(
            "group", [](const R& x) { return x.group; },
            "Of the collective; of the work of another framework, the category of its span.")
        .def_prop_ro(
            "handle", [](const R& x) { return x.r.handle; },
            "The address of the memory, or the number that pairs two ends.")
        .def_prop_ro("bytes", [](const R& x) { return x.r.bytes; })
        .def_prop_ro(
            "reads", [](const R& x) { return x.ranges(x.reads); }, "Pairs of address and number of bytes.")
        .def_prop_ro("writes", [](const R& x) { return x.ranges(x.writes); })
        .def_prop_ro(
            "accesses_known", [](const R& x) { return x.r.accesses_known; },
            "True if reads and writes are all that is touched; False if the accesses are unknown.")
        .def_prop_ro("start_ns", [](const R& x) { return x.r.start_ns; })
        .def_prop_ro("end_ns", [](const R& x) { return x.r.end_ns; })
        .def_prop_ro(
            "waited_ns", [](const R& x) { return x.r.waited_ns; }, "How long a synchronization blocked.")
        .def_prop_ro(
            "stack",
            [](R& x) {
                x.read_stack();
                return x.stack;
            },
            "Where it happened: (file, line, function), innermost first.")
        .def("__repr__", [](const R& x) {
            return "<HookRecord " + std::string(hub::name(x.r.hook)) + (x.r.end ? " end" : "") +
                   " stream=" + std::to_string(x.r.stream) + " event=" + std::to_string(x.r.event) +
                   " work=" + std::to_string(x.r.work) + ">";
        });
}

PyObject* make_hook_record(const HookRecord& record) {
    record.stamp();
    PyHookRecord out{record, std::string(record.name), std::string(record.group), {}, {}, {}, {}};
    out.reads.assign(record.reads, record.reads + record.read_count);
    out.writes.assign(record.writes, record.writes + record.write_count);
    out.frame = nb::steal((PyObject*)PyThreadState_GetFrame(PyThreadState_Get()));
    return nb::cast(std::move(out), nb::rv_policy::move).release().ptr();
}

// If an observer kept the record, its stack is read now, while the frames have not advanced.
void finish_hook_record(PyObject* object) {
    auto* x = nb::inst_ptr<PyHookRecord>(object);
    if (Py_REFCNT(object) > 1) x->read_stack();
    x->frame.reset();
    Py_DECREF(object);
}

}  // namespace eventide::python
