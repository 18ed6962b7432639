#include "formats/perfetto/pftrace_reader.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "base/clamped.hpp"
#include "encoding/proto.hpp"
#include "formats/perfetto/annotation_reader.hpp"
#include "formats/perfetto/fields.hpp"

namespace eventide::formats {
namespace {

using proto::bytes_field;
using proto::fixed64_field;
using proto::varint_field;

constexpr uint64_t thread_tracks = 1ull << 63;     // uuids for threads that are described without a track
constexpr size_t text_bytes_per_file_byte = 64;    // see text_budget_
constexpr uint64_t complete = 'X', unknown = 'Y';  // further values of Event::type, for legacy phases

}  // namespace

struct PftraceReader::Event {
    uint64_t type = 0, track = 0, name = 0;
    bool has_track = false;
    std::string_view plain_name;
    int32_t category = 0;
    std::vector<std::string_view> annotations;
    std::vector<FlowId> flows;
    bool has_value = false, has_time = false, absolute = false;
    double value = 0;
    int64_t microseconds = 0;
    int64_t duration = null_int64;  // ns, of complete events of older writers
    std::vector<int64_t> extra;
    std::vector<double> extra_double;
    std::vector<uint64_t> extra_tracks, extra_double_tracks;
    Slice slice;
};

size_t PftraceReader::feed(std::string_view data, size_t at, std::string& compressed) {
    compressed.clear();
    if (at == 0) text_budget_ += text_bytes_per_file_byte * data.size();
    while (at < data.size()) {
        proto::Fields f(data.substr(at));
        if (!f.next()) return at;
        at = size_t(f.at() - data.data());
        if (f.tag == bytes_field(fields::trace::packet)) packet(f.text, compressed);
        if (!compressed.empty()) return at;
    }
    return at;
}

void PftraceReader::packet(std::string_view data, std::string& compressed) {
    uint32_t id = 0;
    uint64_t timestamp = 0, clock = 0, flags = 0;
    bool has_time = false;
    std::string_view event, interned, defaults, snapshot, thread;
    for (proto::Fields f(data); f.next();) {
        switch (f.tag) {
            case varint_field(fields::packet::timestamp):
                timestamp = f.value, has_time = true;
                break;
            case varint_field(fields::packet::sequence_id):
                id = uint32_t(f.value);
                break;
            case bytes_field(fields::packet::track_event):
                event = f.text.data() ? f.text : std::string_view("", 0);
                break;
            case bytes_field(fields::packet::interned_data):
                interned = f.text;
                break;
            case varint_field(fields::packet::sequence_flags):
                flags |= f.value;
                break;
            case varint_field(fields::packet::incremental_state_cleared):
                flags |= f.value ? fields::packet::state_cleared_flag : 0;
                break;
            case varint_field(fields::packet::timestamp_clock_id):
                clock = f.value;
                break;
            case bytes_field(fields::packet::defaults):
                defaults = f.text;
                break;
            case bytes_field(fields::packet::clock_snapshot):
                snapshot = f.text;
                break;
            case bytes_field(fields::packet::thread_descriptor):
                thread = f.text;
                break;
            case bytes_field(fields::packet::track_descriptor):
                descriptor(f.text);
                break;
            case bytes_field(fields::packet::chrome_events):
                chrome_events(f.text);
                break;
            case bytes_field(fields::packet::compressed_packets):
                compressed = f.text;
                break;
            case bytes_field(fields::packet::eventide_table):
                own_table(f.text);
                break;
            default:
                break;
        }
    }
    Sequence& sequence = sequences_[id];
    if (flags & fields::packet::state_cleared_flag) sequence.clear_state();
    if (!interned.empty()) sequence.add_interned(interned, out_.texts);
    if (!defaults.empty()) sequence.set_defaults(defaults);
    if (!snapshot.empty()) clocks_.add_snapshot(snapshot, id);
    if (!thread.empty()) {
        PftraceTrack track;
        track.thread = true;
        for (proto::Fields f(thread); f.next();) {
            if (f.tag == varint_field(fields::thread::pid)) track.pid = int64_t(f.value);
            if (f.tag == varint_field(fields::thread::tid)) track.tid = int64_t(f.value);
            if (f.tag == bytes_field(fields::thread::name)) track.name = f.text;
            if (f.tag == varint_field(fields::thread::reference_timestamp_us)) sequence.thread_time = int64_t(f.value);
        }
        sequence.thread_track = thread_tracks | uint64_t(track.pid) << 32 | uint64_t(uint32_t(track.tid));
        out_.tracks[sequence.thread_track] = track;
    }
    if (!event.data()) {
        out_.other += thread.empty() && snapshot.empty() && defaults.empty() && interned.empty();
        return;
    }
    if ((flags & fields::packet::needs_state_flag) && !sequence.valid) {
        ++out_.lost;
        return;
    }
    if (!clock) clock = sequence.default_clock ? sequence.default_clock : fields::clock::boottime;
    track_event(event, sequence, has_time ? clocks_.resolve(clock, id, timestamp) : 0, has_time);
}

void PftraceReader::descriptor(std::string_view data) {
    uint64_t uuid = 0;
    PftraceTrack track;
    for (proto::Fields f(data); f.next();) {
        if (f.tag == varint_field(fields::track::uuid)) uuid = f.value;
        if (f.tag == varint_field(fields::track::parent_uuid)) track.parent = f.value;
        if (f.tag == bytes_field(fields::track::name) || f.tag == bytes_field(fields::track::static_name))
            track.name = f.text;
        if (f.tag == bytes_field(fields::track::process)) {
            track.process = true;
            for (proto::Fields p(f.text); p.next();) {
                if (p.tag == varint_field(fields::process::pid)) track.pid = int64_t(p.value);
                if (p.tag == bytes_field(fields::process::name) && track.name.empty()) track.name = p.text;
            }
        }
        if (f.tag == bytes_field(fields::track::thread)) {
            track.thread = true;
            for (proto::Fields t(f.text); t.next();) {
                if (t.tag == varint_field(fields::thread::pid)) track.pid = int64_t(t.value);
                if (t.tag == varint_field(fields::thread::tid)) track.tid = int64_t(t.value);
                if (t.tag == bytes_field(fields::thread::name) && track.name.empty()) track.name = t.text;
            }
        }
        if (f.tag == bytes_field(fields::track::counter)) {
            track.counter = true;
            for (proto::Fields c(f.text); c.next();) {
                if (c.tag == varint_field(fields::counter::unit_multiplier) && c.value) track.unit = int64_t(c.value);
                if (c.tag == varint_field(fields::counter::is_incremental)) track.incremental = c.value;
            }
        }
    }
    out_.tracks[uuid] = track;
}

void PftraceReader::chrome_events(std::string_view data) {
    for (proto::Fields f(data); f.next();) {
        if (f.tag != bytes_field(fields::chrome_events::metadata)) continue;
        std::string_view name, text;
        for (proto::Fields m(f.text); m.next();) {
            if (m.tag == bytes_field(fields::chrome_metadata::name)) name = m.text;
            if (m.tag == bytes_field(fields::chrome_metadata::string_value)) text = m.text;
        }
        if (name == "eventide") out_.about = text;
    }
}

void PftraceReader::own_table(std::string_view data) {
    std::string_view name, table;
    for (proto::Fields f(data); f.next();) {
        if (f.tag == bytes_field(fields::eventide_table::name)) name = f.text;
        if (f.tag == bytes_field(fields::eventide_table::parquet)) table = f.text;
    }
    out_.tables.emplace_back(name, table);
}

void PftraceReader::track_event(std::string_view data, Sequence& sequence, int64_t time, bool has_time) {
    ++out_.packets;
    Event e;
    for (proto::Fields f(data); f.next();) {
        switch (f.tag) {
            case varint_field(fields::event::delta_us):
                e.microseconds = int64_t(f.value), e.has_time = true;
                break;
            case varint_field(fields::event::absolute_us):
                e.microseconds = int64_t(f.value), e.has_time = e.absolute = true;
                break;
            case varint_field(fields::event::category_iids):
                if (const auto c = sequence.categories.find(f.value); !e.category && c != sequence.categories.end())
                    e.category = c->second;
                break;
            case bytes_field(fields::event::categories):
                if (!e.category) e.category = out_.texts.intern(f.text);
                break;
            case bytes_field(fields::event::debug_annotations):
                e.annotations.push_back(f.text);
                break;
            case bytes_field(fields::event::legacy_event):
                legacy(f.text, e);
                break;
            case varint_field(fields::event::type):
                e.type = f.value;
                break;
            case varint_field(fields::event::name_iid):
                e.name = f.value;
                break;
            case bytes_field(fields::event::name):
                e.plain_name = f.text;
                break;
            case varint_field(fields::event::track_uuid):
                e.track = f.value, e.has_track = true;
                break;
            case varint_field(fields::event::counter_value):
                e.value = double(int64_t(f.value)), e.has_value = true;
                break;
            case fixed64_field(fields::event::double_counter_value):
                e.value = f.real(), e.has_value = true;
                break;
            case varint_field(fields::event::old_flow_ids):
            case fixed64_field(fields::event::flow_ids):
                e.flows.push_back({f.value, false});
                break;
            case varint_field(fields::event::old_terminating_flow_ids):
            case fixed64_field(fields::event::terminating_flow_ids):
                e.flows.push_back({f.value, true});
                break;
            case varint_field(fields::event::extra_counter_values):
                e.extra.push_back(int64_t(f.value));
                break;
            case fixed64_field(fields::event::extra_double_counter_values):
                e.extra_double.push_back(f.real());
                break;
            case varint_field(fields::event::extra_counter_tracks):
                e.extra_tracks.push_back(f.value);
                break;
            case varint_field(fields::event::extra_double_counter_tracks):
                e.extra_double_tracks.push_back(f.value);
                break;
            default:
                break;
        }
    }
    if (!has_time && e.has_time) {  // older writers: microseconds, absolute or as a difference
        if (!e.absolute) sequence.thread_time = clamped::add(sequence.thread_time, e.microseconds);
        time = clamped::multiply(e.absolute ? e.microseconds : sequence.thread_time, 1000);
    }
    if (!e.has_track) e.track = sequence.has_default_track ? sequence.default_track : sequence.thread_track;
    counters(e, sequence, time);
    if (e.type == fields::event::counter) return;
    if (const auto n = sequence.names.find(e.name); e.name && n != sequence.names.end()) e.slice.name = n->second;
    if (!e.plain_name.empty()) e.slice.name = out_.texts.intern(e.plain_name);
    AnnotationReader reader(sequence, out_.texts, text_budget_);
    std::string json;
    EventideFields own;
    for (const std::string_view annotation : e.annotations)
        reader.append_member(json, annotation, out_.about.empty() ? nullptr : &own);
    if (!json.empty()) e.slice.args = out_.texts.append("{" + json + "}");
    out_.left_out += reader.left_out();
    if (!own.args.empty()) e.slice.args = out_.texts.append(own.args);
    e.slice.queued = own.queued;
    e.slice.cpu = own.cpu;
    e.slice.work = own.work;
    e.slice.correlation = own.correlation;
    e.slice.stack = own.stack;
    e.slice.outcome = own.outcome;
    add(e, time);
}

void PftraceReader::legacy(std::string_view data, Event& event) {
    for (proto::Fields f(data); f.next();) {
        if (f.tag == varint_field(fields::legacy_event::name_iid) && !event.name) event.name = f.value;
        if (f.tag == varint_field(fields::legacy_event::duration_us))
            event.duration = clamped::multiply(int64_t(f.value), 1000);
        if (f.tag != varint_field(fields::legacy_event::phase)) continue;
        switch (char(f.value)) {
            case 'B':
                event.type = fields::event::slice_begin;
                break;
            case 'E':
                event.type = fields::event::slice_end;
                break;
            case 'I':
            case 'i':
            case 'R':
                event.type = fields::event::instant;
                break;
            case 'X':
                event.type = complete;
                break;
            default:
                event.type = unknown;
                break;
        }
    }
}

void PftraceReader::counters(const Event& e, const Sequence& sequence, int64_t time) {
    if (e.type == fields::event::counter && e.has_value) out_.values.push_back({e.track, time, e.value});
    const auto& tracks = e.extra_tracks.empty() ? sequence.extra_counters : e.extra_tracks;
    for (size_t i = 0; i < e.extra.size() && i < tracks.size(); ++i)
        out_.values.push_back({tracks[i], time, double(e.extra[i])});
    const auto& doubles = e.extra_double_tracks.empty() ? sequence.extra_double_counters : e.extra_double_tracks;
    for (size_t i = 0; i < e.extra_double.size() && i < doubles.size(); ++i)
        out_.values.push_back({doubles[i], time, e.extra_double[i]});
}

void PftraceReader::add(const Event& e, int64_t time) {
    TimedEvent h{time, e.track, -1, flows_.size(), e.flows.size(), Kind::begin};
    flows_.insert(flows_.end(), e.flows.begin(), e.flows.end());
    if (e.type == fields::event::slice_end) {
        h.kind = Kind::end;
    } else if (e.type == fields::event::slice_begin || e.type == fields::event::instant || e.type == complete) {
        Slice slice = e.slice;
        slice.track = e.track;
        slice.start = time;
        slice.category = e.category;
        slice.instant = e.type == fields::event::instant;
        if (slice.instant || e.type == complete) {
            h.kind = Kind::instant;  // complete: no end event follows
            slice.end = clamped::add(time, slice.instant || e.duration == null_int64 ? 0 : e.duration);
        }
        h.slice = int64_t(out_.slices.size());
        out_.slices.push_back(slice);
    } else {
        ++out_.legacy;
        return;
    }
    timed_events_.push_back(h);
}

PftraceContents& PftraceReader::finish() {
    std::stable_sort(timed_events_.begin(), timed_events_.end(),
                     [](const TimedEvent& a, const TimedEvent& b) { return a.time < b.time; });
    std::unordered_map<uint64_t, std::vector<int64_t>> open;
    std::unordered_map<uint64_t, int64_t> tails;
    for (TimedEvent& h : timed_events_) {
        std::vector<int64_t>& stack = open[h.track];
        if (h.kind == Kind::begin) stack.push_back(h.slice);
        if (h.kind == Kind::end) {
            if (stack.empty()) {
                ++out_.loose_ends;
                continue;
            }
            h.slice = stack.back();
            stack.pop_back();
            out_.slices[size_t(h.slice)].end = h.time;
        }
        for (size_t i = h.flows; i < h.flows + h.flow_count; ++i) {
            const auto tail = tails.find(flows_[i].id);
            if (tail != tails.end() && tail->second != h.slice) out_.arrows.emplace_back(tail->second, h.slice);
            if (flows_[i].terminating)
                tails.erase(flows_[i].id);
            else
                tails[flows_[i].id] = h.slice;
        }
    }
    return out_;
}

}  // namespace eventide::formats
