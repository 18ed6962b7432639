#include "recorder/payload_records.hpp"

#include <bit>
#include <string>

#include "encoding/json.hpp"

namespace eventide::recorder {
namespace {

uint32_t track_number(const Put& put, std::string_view track) {
    if (track.empty()) return 0;
    if (track.front() == '{') return put.track(track);
    return put.track(json::Object().text("kind", "other").text("name", track).done());
}

// Arguments that do not fit are dropped as a whole, and `cut` is set.
void add_json(ByteWriter& out, std::string_view arguments, bool& cut) {
    if (arguments.empty()) return;
    if (!out.has_space(arguments.size() + 3 * longest_varint)) {
        cut = true;
        return;
    }
    out.varint(0);
    out.byte(uint8_t(ArgumentType::json));
    out.varint(arguments.size());
    out.raw(arguments.data(), arguments.size());
}

void add_time(ByteWriter& out, int64_t time_ns) {
    if (!time_ns) return;
    out.varint(0);
    out.byte(uint8_t(ArgumentType::time));
    out.signed_varint(time_ns);
}

void write(Put& put, Kind kind, uint32_t name, uint64_t a, uint64_t b, const ByteWriter& payload, bool cut) {
    if (cut) put.count_truncated(kind);
    if (payload.size())
        put.with_payload(kind, name, a, b, payload.data(), payload.size());
    else
        put.one(kind, name, a, b);
}

// The numbers that are not 0, after a mask of them.
template <size_t n>
void add_masked(ByteWriter& out, const uint64_t (&values)[n]) {
    uint64_t mask = 0;
    for (size_t i = 0; i < n; ++i) mask |= uint64_t(values[i] != 0) << i;
    out.varint(mask);
    for (const uint64_t v : values)
        if (v) out.varint(v);
}

}  // namespace

void record_span(std::string_view track, std::string_view name, std::string_view category, int64_t start_ns,
                 int64_t end_ns, std::string_view arguments, uint32_t stack, const SpanFields& fields) {
    Put put;
    if (!put) return;
    uint8_t bytes[largest_payload];
    ByteWriter out(bytes, sizeof bytes);
    out.varint(track_number(put, track));
    out.varint(put.name(category.empty() ? "span" : category));
    out.varint(put.stack(stack));
    add_masked(out, {fields.submit_ns ? zigzag(fields.submit_ns - start_ns) + 1 : 0, fields.cpu_ns, fields.work,
                     fields.correlation, uint64_t(put.name(fields.outcome))});
    bool cut = false;
    add_json(out, arguments, cut);
    write(put, Kind::span, put.name(name), uint64_t(start_ns), uint64_t(end_ns), out, cut);
}

void record_instant(std::string_view track, std::string_view name, std::string_view category,
                    std::string_view arguments, uint32_t stack, int64_t time_ns) {
    Put put;
    if (!put) return;
    uint8_t bytes[largest_payload];
    ByteWriter out(bytes, sizeof bytes);
    bool cut = false;
    add_time(out, time_ns);
    add_json(out, arguments, cut);
    const uint64_t a = put.name(category) | uint64_t(track_number(put, track)) << 32;
    write(put, Kind::instant, put.name(name), a, put.stack(stack), out, cut);
}

void record_counter(std::string_view track, std::string_view name, double value, int64_t time_ns) {
    Put put;
    if (!put) return;
    uint8_t bytes[4 * longest_varint];
    ByteWriter out(bytes, sizeof bytes);
    add_time(out, time_ns);
    write(put, Kind::counter, put.name(name), std::bit_cast<uint64_t>(value), track_number(put, track), out, false);
}

void record_edge(std::string_view kind, std::string_view from_track, int64_t from_ns, std::string_view to_track,
                 int64_t to_ns, const EdgeFields& fields) {
    Put put;
    if (!put) return;
    uint8_t bytes[8 * longest_varint];
    ByteWriter out(bytes, sizeof bytes);
    out.varint(track_number(put, from_track));
    out.varint(track_number(put, to_track));
    add_masked(out, {fields.event, fields.version, fields.correlation});
    write(put, Kind::edge, put.name(kind), uint64_t(from_ns), uint64_t(to_ns), out, false);
}

}  // namespace eventide::recorder
