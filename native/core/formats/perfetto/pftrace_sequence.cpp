#include "formats/perfetto/pftrace_sequence.hpp"

#include "encoding/proto.hpp"
#include "formats/perfetto/fields.hpp"

namespace eventide::formats {

using proto::bytes_field;
using proto::varint_field;

Clocks::Key Clocks::key(uint64_t clock, uint32_t sequence) {
    const bool of_sequence = clock >= fields::clock::first_of_sequence && clock < fields::clock::first_global;
    return {of_sequence ? sequence : 0, clock};
}

void Clocks::add_snapshot(std::string_view data, uint32_t sequence) {
    struct Reading {
        uint64_t id = 0;
        int64_t time = 0, unit = 1;
        bool incremental = false;
    };
    std::vector<Reading> readings;
    const Reading* reference = nullptr;
    for (proto::Fields f(data); f.next();) {
        if (f.tag != bytes_field(fields::clock_snapshot::clocks)) continue;
        Reading r;
        for (proto::Fields c(f.text); c.next();) {
            if (c.tag == varint_field(fields::clock::id)) r.id = c.value;
            if (c.tag == varint_field(fields::clock::timestamp)) r.time = int64_t(c.value);
            if (c.tag == varint_field(fields::clock::is_incremental)) r.incremental = c.value;
            if (c.tag == varint_field(fields::clock::unit_multiplier_ns) && c.value) r.unit = int64_t(c.value);
        }
        readings.push_back(r);
    }
    for (const Reading& r : readings)
        if (r.id == fields::clock::boottime || (!reference && r.id < fields::clock::first_of_sequence)) reference = &r;
    for (const Reading& r : readings) {
        Clock& clock = clocks_[key(r.id, sequence)];
        clock.last = int64_t(uint64_t(r.time) * uint64_t(r.unit));
        clock.unit = r.unit;
        clock.incremental = r.incremental;
        if (reference) clock.offset = int64_t(uint64_t(reference->time) - uint64_t(clock.last));
    }
}

int64_t Clocks::resolve(uint64_t clock, uint32_t sequence, uint64_t value) {
    const auto found = clocks_.find(key(clock, sequence));
    if (found == clocks_.end()) return int64_t(value);
    Clock& c = found->second;
    uint64_t now = value * uint64_t(c.unit);
    if (c.incremental) now += uint64_t(c.last);
    c.last = int64_t(now);
    return int64_t(now + uint64_t(c.offset));
}

void Sequence::add_interned(std::string_view data, TextTable& texts) {
    for (proto::Fields f(data); f.next();) {
        Names* const into = f.tag == bytes_field(fields::interned_data::categories)         ? &categories
                            : f.tag == bytes_field(fields::interned_data::names)            ? &names
                            : f.tag == bytes_field(fields::interned_data::annotation_names) ? &annotation_names
                            : f.tag == bytes_field(fields::interned_data::strings)          ? &strings
                                                                                            : nullptr;
        if (!into) continue;
        uint64_t iid = 0;
        std::string_view name;
        for (proto::Fields entry(f.text); entry.next();) {
            if (entry.tag == varint_field(fields::interned_text::iid)) iid = entry.value;
            if (entry.tag == bytes_field(fields::interned_text::text)) name = entry.text;
        }
        (*into)[iid] = texts.intern(name);
    }
}

void Sequence::set_defaults(std::string_view data) {
    default_clock = 0;
    has_default_track = false;
    extra_counters.clear();
    extra_double_counters.clear();
    for (proto::Fields f(data); f.next();) {
        if (f.tag == varint_field(fields::defaults::timestamp_clock_id)) default_clock = f.value;
        if (f.tag != bytes_field(fields::defaults::track_event)) continue;
        for (proto::Fields e(f.text); e.next();) {
            if (e.tag == varint_field(fields::event::track_uuid)) default_track = e.value, has_default_track = true;
            if (e.tag == varint_field(fields::event::extra_counter_tracks)) extra_counters.push_back(e.value);
            if (e.tag == varint_field(fields::event::extra_double_counter_tracks))
                extra_double_counters.push_back(e.value);
        }
    }
}

}  // namespace eventide::formats
