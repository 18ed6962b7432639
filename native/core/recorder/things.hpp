// Things with a payload, and what the payloads hold (numbers are varints, z: signed).
//
//   arguments   until the end: name of the key, type, value. Types: none, false, true, whole number (z), double (8
//               bytes), text (size, bytes), JSON (size, bytes), cut text (size, bytes), time of the thing in ns (z).
//               Key 0 with JSON: all arguments at once.
//   span        track, category, stack, mask; for each bit of the mask from the lowest: submit (z, after the start,
//               plus one), CPU time, work, correlation, outcome (a name); arguments
//   edge        tracks it goes from and to, mask: event, version, correlation
//   hook        mask; for each bit: device (a name), stream, event, version, work, handle, bytes, start (z, after the
//               end, plus one; b of the entry is then the end and not the time of the thing), time waited, CPU time,
//               group (a name), stack, accesses: number of reads and of writes, and for each address, bytes, flags (1:
//               possible, 2: strided), and where it is strided run and stride
//
// The functions record nothing when nothing is being recorded. A track is "" for this thread's own, a name, or JSON
// with the columns of eventide.store's tracks. Times are CLOCK_MONOTONIC in ns.
#pragma once

#include <cstdint>
#include <string_view>

#include "encoding/varint.hpp"
#include "hooks/hub.hpp"
#include "recorder/recorder.hpp"

namespace eventide::recorder {

enum class ArgumentType : uint8_t { none, no, yes, whole, real, text, json, cut_text, time };

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
