// Sanitizer: the engine for Python; programs and stored traces are walked with it. Live, the hooks feed it natively.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "bindings/base/bind.hpp"
#include "bindings/sanitizer/sanitizer_results.hpp"
#include "sanitizer/engine.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace eventide::python {
namespace {

using namespace eventide::sanitizer;

// (address, bytes), (address, bytes, run, stride) or (address, bytes, run, stride, possible), any number of them.
class Ranges {
  public:
    explicit Ranges(nb::handle given) {
        nb::object fast = nb::steal(PySequence_Fast(given.ptr(), "reads and writes must be sequences of tuples"));
        if (!fast.is_valid()) nb::raise_python_error();
        const Py_ssize_t n = PySequence_Fast_GET_SIZE(fast.ptr());
        ranges_.reserve(size_t(n));
        for (Py_ssize_t i = 0; i < n; ++i) {
            PyObject* item = PySequence_Fast_GET_ITEM(fast.ptr(), i);
            if (!PyTuple_Check(item) || PyTuple_GET_SIZE(item) < 2)
                throw nb::type_error("an access is a tuple (address, bytes[, run, stride[, possible]])");
            uint64_t v[5] = {};
            for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(item) && k < 5; ++k) {
                v[k] = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(item, k));
                if (v[k] == uint64_t(-1) && PyErr_Occurred()) nb::raise_python_error();
            }
            ranges_.push_back({v[0], v[1], v[2], v[3], v[4] != 0});
        }
    }
    operator std::span<const Range>() const { return ranges_; }  // NOLINT: it is one

  private:
    std::vector<Range> ranges_;
};

// Wraps `method(engine, at, arguments...)` so that it ends with the keywords of At.
#define AT_ARGUMENTS \
    nb::kw_only(), "thread"_a = 0, "stack"_a = 0, "work"_a = 0, "name"_a = "", "past"_a = 0, "inside"_a = no_stream
#define AT_PARAMETERS \
    uint64_t thread, uint32_t stack, uint64_t work, std::string_view name, uint64_t past, uint64_t inside
#define AT                                      \
    At {                                        \
        thread, stack, work, name, past, inside \
    }

void bind_work(nb::class_<Engine>& c) {
    c.def(
         "submit",
         [](Engine& e, uint64_t stream, nb::handle reads, nb::handle writes, bool known, AT_PARAMETERS) {
             e.submit(AT, stream, Ranges(reads), Ranges(writes), known);
         },
         "stream"_a, "reads"_a, "writes"_a, "known"_a = true, AT_ARGUMENTS)
        .def(
            "host_access",
            [](Engine& e, nb::handle reads, nb::handle writes, AT_PARAMETERS) {
                e.host_access(AT, Ranges(reads), Ranges(writes));
            },
            "reads"_a, "writes"_a, AT_ARGUMENTS)
        .def(
            "work_access",
            [](Engine& e, uint64_t stream, nb::handle reads, nb::handle writes, AT_PARAMETERS) {
                e.work_access(AT, stream, Ranges(reads), Ranges(writes));
            },
            "stream"_a, "reads"_a, "writes"_a, AT_ARGUMENTS)
        .def(
            "allocate",
            [](Engine& e, uint64_t address, uint64_t bytes, uint64_t stream, AT_PARAMETERS) {
                e.allocate(AT, address, bytes, stream);
            },
            "address"_a, "bytes"_a, "stream"_a = no_stream, AT_ARGUMENTS)
        .def(
            "free",
            [](Engine& e, uint64_t address, uint64_t stream, bool idle, AT_PARAMETERS) {
                e.free(AT, address, stream, idle);
            },
            "address"_a, "stream"_a = no_stream, "idle"_a = false, AT_ARGUMENTS)
        .def(
            "record_stream",
            [](Engine& e, uint64_t address, uint64_t stream, AT_PARAMETERS) { e.record_stream(AT, address, stream); },
            "address"_a, "stream"_a, AT_ARGUMENTS);
}

using Counts = std::map<std::pair<bool, uint64_t>, uint64_t>;  // how many of each (is a thread, id)

void bind_order(nb::class_<Engine>& c) {
    c.def("create_stream", &Engine::create_stream, "stream"_a, "device"_a = 0, "behind"_a = no_stream)
        .def(
            "create_event", [](Engine& e, uint64_t event, AT_PARAMETERS) { e.create_event(AT, event); }, "event"_a,
            AT_ARGUMENTS)
        .def("delete_event", &Engine::delete_event, "event"_a)
        .def(
            "record",
            [](Engine& e, uint64_t event, uint64_t stream, uint64_t version, AT_PARAMETERS) {
                e.record(AT, event, version, stream);
            },
            "event"_a, "stream"_a, "version"_a = newest, AT_ARGUMENTS)
        .def(
            "wait",
            [](Engine& e, uint64_t event, uint64_t stream, uint64_t version, AT_PARAMETERS) {
                e.wait(AT, event, version, stream);
            },
            "event"_a, "stream"_a, "version"_a = newest, AT_ARGUMENTS)
        .def(
            "signal", [](Engine& e, uint64_t token, uint64_t stream, AT_PARAMETERS) { e.signal(AT, token, stream); },
            "token"_a, "stream"_a, AT_ARGUMENTS)
        .def(
            "wait_signal",
            [](Engine& e, uint64_t token, uint64_t stream, AT_PARAMETERS) { e.wait_signal(AT, token, stream); },
            "token"_a, "stream"_a, AT_ARGUMENTS)
        .def(
            "collective",
            [](Engine& e, const std::vector<std::tuple<uint64_t, uint64_t, uint64_t, uint64_t>>& ranks) {
                std::vector<Engine::Arrival> all;
                for (const auto& [stream, thread, work, past] : ranks)
                    all.push_back({{.thread = thread, .work = work, .past = past}, stream});
                e.collective(all);
            },
            "ranks"_a, "Of each: stream, thread, work, past.")
        .def(
            "wait_known",
            [](Engine& e, uint64_t stream, const Counts& known, AT_PARAMETERS) {
                std::vector<Engine::Known> all;
                for (const auto& [agent, count] : known) all.push_back({agent.first, agent.second, count});
                e.wait_known(AT, all, stream);
            },
            "stream"_a, "known"_a, AT_ARGUMENTS)
        .def(
            "synchronize_numbered",
            [](Engine& e, const std::vector<uint64_t>& works, AT_PARAMETERS) { e.synchronize_numbered(AT, works); },
            "works"_a, AT_ARGUMENTS)
        .def(
            "over_at",
            [](const Engine& e, uint64_t work) {
                Counts out;
                for (const Engine::Known& k : e.over_at(work)) out[{k.thread, k.id}] = k.count;
                return out;
            },
            "work"_a, "The number of completed operations of each (is a thread, id).");
}

void bind_host(nb::class_<Engine>& c) {
    c.def(
         "synchronize_event",
         [](Engine& e, uint64_t event, uint64_t version, AT_PARAMETERS) { e.synchronize_event(AT, event, version); },
         "event"_a, "version"_a = newest, AT_ARGUMENTS)
        .def(
            "synchronize_stream", [](Engine& e, uint64_t stream, AT_PARAMETERS) { e.synchronize_stream(AT, stream); },
            "stream"_a, AT_ARGUMENTS)
        .def(
            "synchronize_device", [](Engine& e, uint64_t device, AT_PARAMETERS) { e.synchronize_device(AT, device); },
            "device"_a = 0, AT_ARGUMENTS)
        .def("mark_thread", &Engine::mark_thread, "token"_a, "thread"_a)
        .def(
            "host_signal", [](Engine& e, uint64_t token, AT_PARAMETERS) { e.host_signal(AT, token); }, "token"_a,
            AT_ARGUMENTS)
        .def(
            "host_wait", [](Engine& e, uint64_t token, AT_PARAMETERS) { e.host_wait(AT, token); }, "token"_a,
            AT_ARGUMENTS)
        .def(
            "enter_work",
            [](Engine& e, uint64_t stream, uint64_t work, uint64_t thread) {
                e.enter_work({.thread = thread}, stream, work);
            },
            "stream"_a, "work"_a, nb::kw_only(), "thread"_a = 0)
        .def("leave_work", &Engine::leave_work, "stream"_a);
}

}  // namespace

void bind_sanitizer(nb::module_& m) {
    nb::class_<Engine> c(m, "Sanitizer", "The sanitizer's engine; see native/core/sanitizer/engine.hpp.");
    c.def(
        "__init__",
        [](Engine* e, bool predict, size_t max_freed, bool numbered, bool unseen_hand_over) {
            new (e) Engine({.predict = predict,
                            .max_freed = max_freed,
                            .numbered = numbered,
                            .unseen_hand_over = unseen_hand_over});
        },
        nb::kw_only(), "predict"_a = false, "max_freed"_a = Options{}.max_freed, "numbered"_a = false,
        "unseen_hand_over"_a = false);
    bind_work(c);
    bind_order(c);
    bind_host(c);
    c.def(
         "finish", [](Engine& e, bool leaks, AT_PARAMETERS) { e.finish(AT, leaks); }, "leaks"_a = false, AT_ARGUMENTS)
        .def("findings",
             [](const Engine& e) {
                 nb::list out;
                 for (const Finding& f : e.findings())
                     if (f.count) out.append(finding_to_dict(f));
                 return out;
             })
        .def("coverage", [](const Engine& e) { return coverage_to_dict(e.coverage()); });
}

}  // namespace eventide::python
