// Properties of every recording that can be read, closed or not.
#pragma once

#include <algorithm>
#include <iterator>

#include "fuzz.hpp"
#include "tracefile/codec.hpp"
#include "tracefile/derived_work.hpp"
#include "tracefile/trace_columns.hpp"
#include "tracefile/trace_file.hpp"

namespace eventide::fuzz {

inline void check_rows(const tracefile::TraceColumns& t) {
    const auto& s = t.spans;
    for (const auto* column : {&s.end, &s.submit, &s.cpu, &s.work, &s.correlation})
        require(column->size() == s.start.size(), "columns of spans are equally long");
    require(s.arguments.offsets.size() == s.start.size() + 1, "every span has arguments");
    require(t.instants.arguments.offsets.size() == t.instants.time.size() + 1, "every instant has arguments");
    require(t.hooks.access_offsets.size() == t.hooks.time.size() + 1, "every hook has accesses");
    require(size_t(t.hooks.access_offsets.back()) == t.hooks.access_address.size(), "accesses are in the columns");
}

// The derived work refers to existing rows. The first hook numbers are taken as the kinds of operations.
inline void check_work(const tracefile::HookColumns& h) {
    tracefile::Operations o{.rows = int64_t(h.hook.size())};
    o.hook = h.hook.data(), o.end = h.end.data(), o.outcome = h.outcome.data(), o.thread = h.thread.data();
    o.device = h.device.data(), o.name = h.name.data(), o.group = h.group.data(), o.stack = h.stack.data(),
    o.time = h.time.data();
    o.stream = h.stream.data(), o.event = h.event.data(), o.version = h.version.data(), o.work = h.work.data();
    o.start = h.start.data(), o.finish = h.finish.data(), o.cpu = h.cpu.data();
    o.handle = h.handle.data(), o.bytes = h.bytes.data();
    std::vector<tracefile::Operation> kinds;
    for (int kind = 0; kind < tracefile::operation_count; ++kind) kinds.push_back(tracefile::Operation(kind));
    const tracefile::DerivedWork work = tracefile::derive_work(o, kinds, 0, 1000);
    const auto spans = int64_t(work.spans.start.size());
    for (const auto* column : {&work.edges.from_span, &work.edges.to_span})
        for (const int64_t span : *column)
            require(span == null_int64 || (span >= 0 && span < spans), "an edge's spans exist");
    for (const int64_t duration : work.spans.duration)
        require(duration == null_int64 || duration >= 0, "durations are not negative");
}

// A recording has the same records when it is read, copied and recovered.
inline void check_recording(const std::string& path) {
    const std::string to = path + ".copy";
    try {
        const tracefile::RawTrace raw = tracefile::load(path);
        const tracefile::TraceColumns before = tracefile::columns_of(raw);
        check_rows(before);
        check_work(before.hooks);
        const auto same = [&](const std::string& again, const char* what) {
            const tracefile::RawTrace now = tracefile::load(again);
            const tracefile::TraceColumns after = tracefile::columns_of(now);
            require(now.closed, "a copy or a recovered file is closed");
            require(std::equal(std::begin(before.records), std::end(before.records), std::begin(after.records)), what);
        };
        tracefile::copy(path, to, "");
        same(to, "a copy has the records of the original");
        tracefile::recover(path);
        same(path, "a recovered file has the records of the original");
    } catch (const tracefile::FormatError&) {
    }
    unlink(to.c_str());
}

}  // namespace eventide::fuzz
