// What follows from the operations of a recording: arrays in, arrays out.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/error.hpp"
#include "bindings/base/bind.hpp"
#include "bindings/trace/arrays.hpp"
#include "bindings/trace/columns.hpp"
#include "tracefile/derived_work.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace eventide::python {
namespace {

using tracefile::Operation;

tracefile::Operations operations_of(const nb::dict& given) {
    Columns c(given, "time");
    tracefile::Operations o{.rows = c.rows()};
    o.hook = c.get<int32_t>("hook"), o.end = c.get<int32_t>("end");
    o.outcome = c.get<int32_t>("outcome"), o.thread = c.get<int32_t>("thread");
    o.device = c.get<int32_t>("device"), o.name = c.get<int32_t>("name");
    o.group = c.get<int32_t>("group"), o.stack = c.get<int32_t>("stack");
    o.time = c.get<int64_t>("time");
    o.stream = c.get<int64_t>("stream"), o.event = c.get<int64_t>("event");
    o.version = c.get<int64_t>("version"), o.work = c.get<int64_t>("work");
    o.start = c.get<int64_t>("start"), o.finish = c.get<int64_t>("finish");
    o.cpu = c.get<int64_t>("cpu"), o.handle = c.get<uint64_t>("handle");
    o.bytes = c.get<uint64_t>("bytes");
    return o;
}

std::vector<Operation> kinds_of(const std::vector<std::string>& hooks) {
    constexpr const char* names[tracefile::operation_count] = {
        "",
        "work_submission",
        "work_completion",
        "event_record",
        "event_wait",
        "stream_synchronization",
        "event_synchronization",
        "device_synchronization",
        "stream_creation",
        "memory_allocation",
        "memory_deallocation",
    };
    std::vector<Operation> out(hooks.size(), Operation::other);
    for (size_t i = 0; i < hooks.size(); ++i)
        for (int k = 1; k < tracefile::operation_count; ++k)
            if (hooks[i] == names[k]) out[i] = Operation(k);
    return out;
}

#define COLUMN(name) part[#name] = array(std::move(c.name))

nb::dict to_dict(tracefile::DerivedWork&& found) {
    nb::dict out;
    {
        auto& c = found.spans;
        nb::dict part;
        COLUMN(kind), COLUMN(track), COLUMN(name), COLUMN(group), COLUMN(outcome), COLUMN(stack), COLUMN(start);
        COLUMN(duration), COLUMN(submit), COLUMN(cpu), COLUMN(work);
        out["spans"] = part;
        out["waited_for"] = array(std::move(found.waited_for));
    }
    {
        auto& c = found.edges;
        nb::dict part;
        COLUMN(kind), COLUMN(from_track), COLUMN(to_track), COLUMN(from_time), COLUMN(from_span), COLUMN(to_time);
        COLUMN(to_span), COLUMN(event), COLUMN(version), COLUMN(correlation);
        out["edges"] = part;
    }
    {
        auto& c = found.streams;
        nb::dict part;
        COLUMN(stream), COLUMN(device), COLUMN(name);
        out["streams"] = part;
    }
    {
        auto& c = found.levels;
        nb::dict part;
        COLUMN(operation), COLUMN(held);
        out["levels"] = part;
    }
    return out;
}

nb::dict derive(const nb::dict& columns, const std::vector<std::string>& hooks, int64_t first_span,
                int32_t first_track) {
    const tracefile::Operations operations = operations_of(columns);
    const std::vector<Operation> kinds = kinds_of(hooks);
    tracefile::DerivedWork found;
    {
        nb::gil_scoped_release release;  // the dict keeps the arrays
        found = tracefile::derive_work(operations, kinds, first_span, first_track);
    }
    return to_dict(std::move(found));
}

}  // namespace

void bind_derived_work(nb::module_& m) {
    m.def("derive_work", &derive, "operations"_a, "hooks"_a, "first_span"_a, "first_track"_a,
          "Spans, edges, streams and levels of memory that follow from operations in the order of time.");
}

}  // namespace eventide::python
