#include "pftrace_reader.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "proto.hpp"

namespace eventide::trace {
namespace {

constexpr uint32_t own_table_field = 19'019;    // of TracePacket: only we write it
constexpr uint64_t thread_tracks = 1ull << 63;  // uuids for threads that are described without a track

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
    while (at < data.size()) {
        proto::Fields f(data.substr(at));
        if (!f.next()) return at;
        at = size_t(f.at() - data.data());
        if (f.number == 1 && f.type == 2) packet(f.text, compressed);
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
        switch (f.number) {
            case 8:
                timestamp = f.value, has_time = true;
                break;
            case 10:
                id = uint32_t(f.value);
                break;
            case 11:
                event = f.text.data() ? f.text : std::string_view("", 0);
                break;
            case 12:
                interned = f.text;
                break;
            case 13:
                flags |= f.value;
                break;
            case 41:
                flags |= f.value ? 1 : 0;
                break;
            case 58:
                clock = f.value;
                break;
            case 59:
                defaults = f.text;
                break;
            case 6:
                snapshot = f.text;
                break;
            case 44:
                thread = f.text;
                break;
            case 60:
                descriptor(f.text);
                break;
            case 5:
                chrome_events(f.text);
                break;
            case 50:
                compressed = f.text;
                break;
            case own_table_field:
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
            if (f.number == 1) track.pid = int64_t(f.value);
            if (f.number == 2) track.tid = int64_t(f.value);
            if (f.number == 5) track.name = f.text;
            if (f.number == 6) sequence.thread_time = int64_t(f.value);
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
        if (f.number == 1) uuid = f.value;
        if (f.number == 5) track.parent = f.value;
        if (f.number == 2 || f.number == 10) track.name = f.text;
        if (f.number == 3) {
            track.process = true;
            for (proto::Fields p(f.text); p.next();) {
                if (p.number == 1) track.pid = int64_t(p.value);
                if (p.number == 6 && track.name.empty()) track.name = p.text;
            }
        }
        if (f.number == 4) {
            track.thread = true;
            for (proto::Fields t(f.text); t.next();) {
                if (t.number == 1) track.pid = int64_t(t.value);
                if (t.number == 2) track.tid = int64_t(t.value);
                if (t.number == 5 && track.name.empty()) track.name = t.text;
            }
        }
        if (f.number == 8) {
            track.counter = true;
            for (proto::Fields c(f.text); c.next();) {
                if (c.number == 4 && c.value) track.unit = int64_t(c.value);
                if (c.number == 5) track.incremental = c.value;
            }
        }
    }
    out_.tracks[uuid] = track;
}

void PftraceReader::chrome_events(std::string_view data) {
    for (proto::Fields f(data); f.next();) {
        if (f.number != 2) continue;
        std::string_view name, text;
        for (proto::Fields m(f.text); m.next();) {
            if (m.number == 1) name = m.text;
            if (m.number == 2) text = m.text;
        }
        if (name == "eventide") out_.about = text;
    }
}

void PftraceReader::own_table(std::string_view data) {
    std::string_view name, table;
    for (proto::Fields f(data); f.next();) {
        if (f.number == 1) name = f.text;
        if (f.number == 2) table = f.text;
    }
    out_.tables.emplace_back(name, table);
}

void PftraceReader::track_event(std::string_view data, Sequence& sequence, int64_t time, bool has_time) {
    ++out_.packets;
    Event e;
    for (proto::Fields f(data); f.next();) {
        switch (f.number) {
            case 1:
                e.microseconds = int64_t(f.value), e.has_time = true;
                break;
            case 16:
                e.microseconds = int64_t(f.value), e.has_time = e.absolute = true;
                break;
            case 3:
                if (const auto c = sequence.categories.find(f.value); !e.category && c != sequence.categories.end())
                    e.category = c->second;
                break;
            case 22:
                if (!e.category) e.category = out_.texts.intern(f.text);
                break;
            case 4:
                e.annotations.push_back(f.text);
                break;
            case 6:
                legacy(f.text, e);
                break;
            case 9:
                e.type = f.value;
                break;
            case 10:
                e.name = f.value;
                break;
            case 23:
                e.plain_name = f.text;
                break;
            case 11:
                e.track = f.value, e.has_track = true;
                break;
            case 30:
                e.value = double(int64_t(f.value)), e.has_value = true;
                break;
            case 44:
                e.value = f.real(), e.has_value = true;
                break;
            case 36:
            case 47:
                e.flows.push_back({f.value, false});
                break;
            case 42:
            case 48:
                e.flows.push_back({f.value, true});
                break;
            case 12:
                e.extra.push_back(int64_t(f.value));
                break;
            case 46:
                e.extra_double.push_back(f.real());
                break;
            case 31:
                e.extra_tracks.push_back(f.value);
                break;
            case 45:
                e.extra_double_tracks.push_back(f.value);
                break;
            default:
                break;
        }
    }
    if (!has_time && e.has_time) {  // older writers: microseconds, as a difference or not
        if (!e.absolute) sequence.thread_time += e.microseconds;
        time = (e.absolute ? e.microseconds : sequence.thread_time) * 1000;
    }
    if (!e.has_track) e.track = sequence.has_default_track ? sequence.default_track : sequence.thread_track;
    counters(e, sequence, time);
    if (e.type == 4) return;
    if (const auto n = sequence.names.find(e.name); e.name && n != sequence.names.end()) e.slice.name = n->second;
    if (!e.plain_name.empty()) e.slice.name = out_.texts.intern(e.plain_name);
    AnnotationReader reader(sequence, out_.texts);
    std::string json;
    Own own;
    for (const std::string_view annotation : e.annotations)
        reader.member(json, annotation, out_.about.empty() ? nullptr : &own);
    if (!json.empty()) e.slice.args = out_.texts.append("{" + json + "}");
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
        if (f.number == 1 && !event.name) event.name = f.value;
        if (f.number == 3) event.duration = int64_t(f.value) * 1000;
        if (f.number != 2) continue;
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
            slice.end = time + (slice.instant || e.duration == none ? 0 : e.duration);
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
