#include "formats/perfetto/pftrace_reader.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "base/clamped.hpp"
#include "encoding/proto.hpp"

namespace eventide::trace {
namespace {

constexpr uint32_t own_table_field = 19'019;    // of TracePacket: only we write it
constexpr uint64_t thread_tracks = 1ull << 63;  // uuids for threads that are described without a track
constexpr size_t most_times = 64;               // see room_

}  // namespace

struct PftraceReader::Event {
    uint64_t type = 0, track = 0, name = 0;
    bool has_track = false;
    std::string_view plain_name;
    uint32_t category = 0;
    std::vector<std::string_view> annotations;
    std::vector<FlowId> flows;
    bool has_value = false, has_time = false, absolute = false;
    double value = 0;
    int64_t microseconds = 0;
    int64_t duration = none;  // ns, of complete events of older writers
    std::vector<int64_t> extra;
    std::vector<double> extra_double;
    std::vector<uint64_t> extra_tracks, extra_double_tracks;
    Slice slice;
};

size_t PftraceReader::feed(std::string_view data, size_t at, std::string& compressed) {
    compressed.clear();
    if (at == 0) room_ += most_times * data.size();
    while (at < data.size()) {
        proto::Fields f(data.substr(at));
        if (!f.next()) return at;
        at = size_t(f.at() - data.data());
        if (f.tag == proto::bytes_field(1)) packet(f.text, compressed);
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
            case proto::varint_field(8):
                timestamp = f.value, has_time = true;
                break;
            case proto::varint_field(10):
                id = uint32_t(f.value);
                break;
            case proto::bytes_field(11):
                event = f.text.data() ? f.text : std::string_view("", 0);
                break;
            case proto::bytes_field(12):
                interned = f.text;
                break;
            case proto::varint_field(13):
                flags |= f.value;
                break;
            case proto::varint_field(41):
                flags |= f.value ? 1 : 0;
                break;
            case proto::varint_field(58):
                clock = f.value;
                break;
            case proto::bytes_field(59):
                defaults = f.text;
                break;
            case proto::bytes_field(6):
                snapshot = f.text;
                break;
            case proto::bytes_field(44):
                thread = f.text;
                break;
            case proto::bytes_field(60):
                descriptor(f.text);
                break;
            case proto::bytes_field(5):
                chrome_events(f.text);
                break;
            case proto::bytes_field(50):
                compressed = f.text;
                break;
            case proto::bytes_field(own_table_field):
                own_table(f.text);
                break;
            default:
                break;
        }
    }
    Sequence& sequence = sequences_[id];
    if (flags & 1) sequence.forget();
    if (!interned.empty()) sequence.interned(interned, out_.texts);
    if (!defaults.empty()) sequence.defaults(defaults);
    if (!snapshot.empty()) clocks_.snapshot(snapshot, id);
    if (!thread.empty()) {
        PftraceTrack track;
        track.thread = true;
        for (proto::Fields f(thread); f.next();) {
            if (f.tag == proto::varint_field(1)) track.pid = int64_t(f.value);
            if (f.tag == proto::varint_field(2)) track.tid = int64_t(f.value);
            if (f.tag == proto::bytes_field(5)) track.name = f.text;
            if (f.tag == proto::varint_field(6)) sequence.thread_time = int64_t(f.value);
        }
        sequence.thread_track = thread_tracks | uint64_t(track.pid) << 32 | uint64_t(uint32_t(track.tid));
        out_.tracks[sequence.thread_track] = track;
    }
    if (!event.data()) {
        out_.other += thread.empty() && snapshot.empty() && defaults.empty() && interned.empty();
        return;
    }
    if ((flags & 2) && !sequence.valid) {
        ++out_.lost;
        return;
    }
    if (!clock) clock = sequence.default_clock ? sequence.default_clock : Clocks::boottime;
    track_event(event, sequence, has_time ? clocks_.resolve(clock, id, timestamp) : 0, has_time);
}

void PftraceReader::descriptor(std::string_view data) {
    uint64_t uuid = 0;
    PftraceTrack track;
    for (proto::Fields f(data); f.next();) {
        if (f.tag == proto::varint_field(1)) uuid = f.value;
        if (f.tag == proto::varint_field(5)) track.parent = f.value;
        if (f.tag == proto::bytes_field(2) || f.tag == proto::bytes_field(10)) track.name = f.text;
        if (f.tag == proto::bytes_field(3)) {
            track.process = true;
            for (proto::Fields p(f.text); p.next();) {
                if (p.tag == proto::varint_field(1)) track.pid = int64_t(p.value);
                if (p.tag == proto::bytes_field(6) && track.name.empty()) track.name = p.text;
            }
        }
        if (f.tag == proto::bytes_field(4)) {
            track.thread = true;
            for (proto::Fields t(f.text); t.next();) {
                if (t.tag == proto::varint_field(1)) track.pid = int64_t(t.value);
                if (t.tag == proto::varint_field(2)) track.tid = int64_t(t.value);
                if (t.tag == proto::bytes_field(5) && track.name.empty()) track.name = t.text;
            }
        }
        if (f.tag == proto::bytes_field(8)) {
            track.counter = true;
            for (proto::Fields c(f.text); c.next();) {
                if (c.tag == proto::varint_field(4) && c.value) track.unit = int64_t(c.value);
                if (c.tag == proto::varint_field(5)) track.incremental = c.value;
            }
        }
    }
    out_.tracks[uuid] = track;
}

void PftraceReader::chrome_events(std::string_view data) {
    for (proto::Fields f(data); f.next();) {
        if (f.tag != proto::bytes_field(2)) continue;
        std::string_view name, text;
        for (proto::Fields m(f.text); m.next();) {
            if (m.tag == proto::bytes_field(1)) name = m.text;
            if (m.tag == proto::bytes_field(2)) text = m.text;
        }
        if (name == "eventide") out_.about = text;
    }
}

void PftraceReader::own_table(std::string_view data) {
    std::string_view name, table;
    for (proto::Fields f(data); f.next();) {
        if (f.tag == proto::bytes_field(1)) name = f.text;
        if (f.tag == proto::bytes_field(2)) table = f.text;
    }
    out_.tables.emplace_back(name, table);
}

void PftraceReader::track_event(std::string_view data, Sequence& sequence, int64_t time, bool has_time) {
    ++out_.packets;
    Event e;
    for (proto::Fields f(data); f.next();) {
        switch (f.tag) {
            case proto::varint_field(1):
                e.microseconds = int64_t(f.value), e.has_time = true;
                break;
            case proto::varint_field(16):
                e.microseconds = int64_t(f.value), e.has_time = e.absolute = true;
                break;
            case proto::varint_field(3):
                if (const auto c = sequence.categories.find(f.value); !e.category && c != sequence.categories.end())
                    e.category = c->second;
                break;
            case proto::bytes_field(22):
                if (!e.category) e.category = out_.texts.intern(f.text);
                break;
            case proto::bytes_field(4):
                e.annotations.push_back(f.text);
                break;
            case proto::bytes_field(6):
                legacy(f.text, e);
                break;
            case proto::varint_field(9):
                e.type = f.value;
                break;
            case proto::varint_field(10):
                e.name = f.value;
                break;
            case proto::bytes_field(23):
                e.plain_name = f.text;
                break;
            case proto::varint_field(11):
                e.track = f.value, e.has_track = true;
                break;
            case proto::varint_field(30):
                e.value = double(int64_t(f.value)), e.has_value = true;
                break;
            case proto::fixed64_field(44):
                e.value = f.real(), e.has_value = true;
                break;
            case proto::varint_field(36):
            case proto::fixed64_field(47):
                e.flows.push_back({f.value, false});
                break;
            case proto::varint_field(42):
            case proto::fixed64_field(48):
                e.flows.push_back({f.value, true});
                break;
            case proto::varint_field(12):
                e.extra.push_back(int64_t(f.value));
                break;
            case proto::fixed64_field(46):
                e.extra_double.push_back(f.real());
                break;
            case proto::varint_field(31):
                e.extra_tracks.push_back(f.value);
                break;
            case proto::varint_field(45):
                e.extra_double_tracks.push_back(f.value);
                break;
            default:
                break;
        }
    }
    if (!has_time && e.has_time) {  // older writers: microseconds, as a difference or not
        if (!e.absolute) sequence.thread_time = clamped::add(sequence.thread_time, e.microseconds);
        time = clamped::multiply(e.absolute ? e.microseconds : sequence.thread_time, 1000);
    }
    if (!e.has_track) e.track = sequence.has_default_track ? sequence.default_track : sequence.thread_track;
    counters(e, sequence, time);
    if (e.type == 4) return;
    if (const auto n = sequence.names.find(e.name); e.name && n != sequence.names.end()) e.slice.name = n->second;
    if (!e.plain_name.empty()) e.slice.name = out_.texts.intern(e.plain_name);
    AnnotationReader reader(sequence, out_.texts, room_);
    std::string json;
    Own own;
    for (const std::string_view annotation : e.annotations)
        reader.member(json, annotation, out_.about.empty() ? nullptr : &own);
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
        if (f.tag == proto::varint_field(1) && !event.name) event.name = f.value;
        if (f.tag == proto::varint_field(3)) event.duration = clamped::multiply(int64_t(f.value), 1000);
        if (f.tag != proto::varint_field(2)) continue;
        switch (char(f.value)) {
            case 'B':
                event.type = 1;
                break;
            case 'E':
                event.type = 2;
                break;
            case 'I':
            case 'i':
            case 'R':
                event.type = 3;
                break;
            case 'X':
                event.type = 'X';
                break;
            default:
                event.type = 'X' + 1;
                break;
        }
    }
}

void PftraceReader::counters(const Event& e, const Sequence& sequence, int64_t time) {
    if (e.type == 4 && e.has_value) out_.values.push_back({e.track, time, e.value});
    const auto& tracks = e.extra_tracks.empty() ? sequence.extra_counters : e.extra_tracks;
    for (size_t i = 0; i < e.extra.size() && i < tracks.size(); ++i)
        out_.values.push_back({tracks[i], time, double(e.extra[i])});
    const auto& doubles = e.extra_double_tracks.empty() ? sequence.extra_double_counters : e.extra_double_tracks;
    for (size_t i = 0; i < e.extra_double.size() && i < doubles.size(); ++i)
        out_.values.push_back({doubles[i], time, e.extra_double[i]});
}

void PftraceReader::add(const Event& e, int64_t time) {
    Happening h{time, e.track, -1, flows_.size(), e.flows.size(), Kind::begin};
    flows_.insert(flows_.end(), e.flows.begin(), e.flows.end());
    if (e.type == 2) {
        h.kind = Kind::end;
    } else if (e.type == 1 || e.type == 3 || e.type == 'X') {
        Slice slice = e.slice;
        slice.track = e.track;
        slice.start = time;
        slice.category = e.category;
        slice.instant = e.type == 3;
        if (slice.instant || e.type == 'X') {
            h.kind = Kind::instant;  // nothing will end it
            slice.end = clamped::add(time, slice.instant || e.duration == none ? 0 : e.duration);
        }
        h.slice = int64_t(out_.slices.size());
        out_.slices.push_back(slice);
    } else {
        ++out_.legacy;
        return;
    }
    happenings_.push_back(h);
}

PftraceContents& PftraceReader::finish() {
    std::stable_sort(happenings_.begin(), happenings_.end(),
                     [](const Happening& a, const Happening& b) { return a.time < b.time; });
    std::unordered_map<uint64_t, std::vector<int64_t>> open;
    std::unordered_map<uint64_t, int64_t> tails;
    for (Happening& h : happenings_) {
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

}  // namespace eventide::trace
