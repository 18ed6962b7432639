// Records with a variable-length payload: spans, instants, counters and edges. Without a recording they do nothing. A
// track is "" for this thread's own, a name, or JSON with the columns of eventide.recording's tracks. Times are
// CLOCK_MONOTONIC in ns.
#pragma once

#include <cstdint>
#include <string_view>

#include "encoding/varint.hpp"
#include "hooks/hub.hpp"
#include "recorder/recorder.hpp"
#include "tracefile/record.hpp"

namespace eventide::recorder {

using namespace tracefile;

struct SpanFields {
    int64_t submit_ns = 0;
    uint64_t cpu_ns = 0;
    uint64_t work = 0;
    uint64_t correlation = 0;
    std::string_view outcome;
};

// An empty category is "span". `arguments`: a JSON object, or nothing.
void record_span(std::string_view track, std::string_view name, std::string_view category, int64_t start_ns,
                 int64_t end_ns, std::string_view arguments = {}, uint32_t stack = 0, const SpanFields& fields = {});
// Time 0: now.
void record_instant(std::string_view track, std::string_view name, std::string_view category,
                    std::string_view arguments = {}, uint32_t stack = 0, int64_t time_ns = 0);
void record_counter(std::string_view track, std::string_view name, double value, int64_t time_ns = 0);

struct EdgeFields {
    uint64_t event = 0;
    uint64_t version = 0;
    uint64_t correlation = 0;
};
void record_edge(std::string_view kind, std::string_view from_track, int64_t from_ns, std::string_view to_track,
                 int64_t to_ns, const EdgeFields& fields = {});

// Starts and stops listening at every hook.
void listen_to_hooks();
void stop_listening() noexcept;

}  // namespace eventide::recorder
