#include "formats/chrome/chrome_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <queue>
#include <tuple>

#include "encoding/json.hpp"
#include "encoding/json_text.hpp"

namespace eventide::chrome {

using json::Kind;
using json::Value;

Table::Table(const std::vector<std::string>& known_categories) {
    for (const std::string& name : known_categories) known_categories_.insert(strings.intern(name));
}

size_t Table::TrackHash::operator()(const TrackKey& k) const {
    const auto mix = [](uint64_t v) { return (v ^ (v >> 29)) * 0x9E3779B97F4A7C15ull; };
    return mix(mix(uint64_t(k.pid.value) + uint64_t(k.pid.kind)) + uint64_t(k.tid.value) * 31 + uint64_t(k.tid.kind));
}

int32_t Table::text(const Value& value) {
    if (!value) return 0;
    if (value.kind != Kind::string) return strings.intern(value.text());  // a name may be a number
    if (!value.flags) return strings.intern(value.inner());
    repaired += (value.flags & json::DIRTY) != 0;
    return strings.intern(json::decode(value));
}

int64_t Table::integer(const Value& value) {
    if (value.kind != Kind::number && value.kind != Kind::string) return null_int64;
    return parse_integer(value.kind == Kind::string ? value.inner() : value.text()).value_or(null_int64);
}

Id Table::id(const Value& value) {
    if (!value || (value.kind == Kind::literal && value.text() == "null")) return {};
    if (value.kind == Kind::number || value.kind == Kind::string) {
        const auto number = parse_integer(value.kind == Kind::string ? value.inner() : value.text());
        if (number) return {Id::integer, *number};
    }
    return {Id::text, text(value)};
}

// id2 is an object with one member, local or global; its whole text identifies an event as well.
Id Table::id_of(const Event& e) {
    return e.id2 ? Id{Id::text, text(e.id2)} : id(e.id);
}

int32_t Table::track(const TrackKey& key) {
    const auto [found, fresh] = tracks_.try_emplace(key, int32_t(pid.size()));
    if (fresh) {
        pid_kind.push(key.pid.kind);
        pid.push(key.pid.value);
        tid_kind.push(key.tid.kind);
        tid.push(key.tid.value);
    }
    return found->second;
}

int32_t Table::track(const Event& e) {
    const TrackKey key{id(e.pid), id(e.tid)};
    if (last_track_ < 0 || key != last_key_) {
        last_key_ = key;
        last_track_ = track(key);
    }
    return last_track_;
}

int32_t Table::category(const Event& e) {
    return text(e.category);
}

// The arguments as one JSON object without blanks at its ends; empty if there are none. A category that has no
// counterpart among the known ones is kept as the first argument, "cat".
std::string_view Table::args(const Event& e, bool with_category) {
    const int32_t named = with_category ? category(e) : 0;
    const bool keep_category = named && !known_categories_.contains(named);
    std::string_view text = e.args ? e.args.text() : std::string_view();
    std::string cleaned;
    if (e.args.flags & json::DIRTY) {
        ++repaired;
        text = cleaned = json::clean(e.args);
    }
    scratch_.clear();
    scratch_ += '{';
    if (keep_category) {
        scratch_ += "\"cat\":";
        json::quote(scratch_, strings[named]);
    }
    if (e.args.kind == Kind::object) {
        text = text.substr(1, text.size() - 2);
        const auto blank = [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; };
        while (!text.empty() && blank(text.front())) text.remove_prefix(1);
        while (!text.empty() && blank(text.back())) text.remove_suffix(1);
        if (keep_category && !text.empty()) scratch_ += ',';
        scratch_ += text;
    } else if (e.args && text != "null") {
        scratch_ += keep_category ? ",\"args\":" : "\"args\":";
        scratch_ += text;
    }
    if (scratch_.size() == 1) return {};
    scratch_ += '}';
    return scratch_;
}

bool Table::time(const Value& value, FineTime& out) {
    const bool readable = value.kind == Kind::number || value.kind == Kind::string;
    const auto parsed =
        readable ? parse_microseconds(value.kind == Kind::string ? value.inner() : value.text()) : std::nullopt;
    if (parsed) out = *parsed;
    return bool(parsed);
}

void Table::add(const Event& e) {
    ++order_;
    const std::string_view phase = e.phase.kind == Kind::string ? e.phase.inner() : std::string_view();
    if (!e.phase && !e.name && !e.time && !e.args)
        return ignore("empty object");  // XLA ends its lists with an empty object
    if (phase.size() != 1) return ignore(e.phase ? "unknown phase" : "no phase");
    const char ph = phase[0];
    if (ph == 'M') {
        names.track.push(track(e));
        names.name.push(text(e.name));
        names.args.push(args(e));
        return;
    }
    switch (ph) {
        case 'X':
            return add_span(e, true);
        case 'B':
            return add_span(e, false);
        case 'E':
            return add_end(e);
        case 'i':
        case 'I':
        case 'R':
            return add_instant(e);
        case 'C':
            return add_counter(e);
        case 's':
        case 't':
        case 'f':
            return add_flow(e, ph);
        case 'b':
        case 'n':
        case 'e':
            return add_async(e, ph);
        case 'S':
            return add_async(e, 'b');
        case 'T':
        case 'p':
            return add_async(e, 'n');
        case 'F':
            return add_async(e, 'e');
        case 'N':
        case 'O':
        case 'D':
            return ignore("object");
        case 'P':
            return ignore("sample");
        case 'v':
        case 'V':
            return ignore("memory dump");
        case 'c':
            return ignore("clock sync");
        case '(':
        case ')':
            return ignore("context");
        case '=':
            return ignore("link");
        default:
            return ignore("unknown phase");
    }
}

void Table::push_span(int32_t track, int32_t name, int32_t category, int64_t start, int64_t duration,
                      std::string_view args) {
    spans.track.push(track);
    spans.name.push(name);
    spans.category.push(category);
    spans.start.push(start);
    spans.duration.push(duration);
    spans.args.push(args);
}

void Table::add_span(const Event& e, bool complete) {
    FineTime start, duration;
    if (!time(e.time, start)) return ignore(e.time ? "time out of range" : "no time");
    int64_t length = null_int64;
    if (complete && e.duration && !(e.duration.kind == Kind::literal && e.duration.text() == "null")) {
        if (!time(e.duration, duration)) return ignore("duration out of range");
        if (duration.ns < 0) return ignore("negative duration");
        length = (start + duration).rounded() - start.rounded();
    }
    const size_t row = spans.rows();
    push_span(track(e), text(e.name), category(e), start.rounded(), length, args(e));
    if (!complete) begins_.push_back({row, order_});
    if (e.cpu_duration && time(e.cpu_duration, duration) && duration.ns >= 0) spans.cpu.set(row, duration.rounded());
    if (e.args) add_kineto(e, row);
}

void Table::add_kineto(const Event& e, size_t row) {
    const KinetoArgs& k = e.kineto;
    if (k.correlation) spans.correlation.set(row, integer(k.correlation));
    if (k.stream) spans.stream.set(row, integer(k.stream));
    if (k.device) spans.device.set(row, integer(k.device));
    if (k.call_stack.kind == Kind::string && !k.call_stack.inner().empty())
        spans.call_stack.set(row, text(k.call_stack));
    if (!k.wait_stream && !k.wait_record && !k.wait_event) return;
    waits.span.push(int64_t(row));
    waits.stream.push(integer(k.wait_stream));
    waits.record.push(integer(k.wait_record));
    waits.event.push(integer(k.wait_event));
}

void Table::add_instant(const Event& e) {
    FineTime when;
    if (!time(e.time, when)) return ignore(e.time ? "time out of range" : "no time");
    const size_t row = instants.time.size();
    instants.track.push(track(e));
    instants.name.push(text(e.name));
    instants.category.push(category(e));
    instants.time.push(when.rounded());
    instants.args.push(args(e));
    const KinetoArgs& k = e.kineto;
    if (!k.allocated && !k.bytes) return;
    memory.instant.push(int64_t(row));
    memory.address.push(integer(k.address));
    memory.bytes.push(integer(k.bytes));
    memory.allocated.push(integer(k.allocated));
    memory.reserved.push(integer(k.reserved));
    memory.device_type.push(integer(k.memory_device_type));
    memory.device.push(integer(k.memory_device));
}

// Each number among the arguments is a value of a series. A series named "value" or "" has the counter's own name.
void Table::add_counter(const Event& e) {
    FineTime when;
    if (!time(e.time, when)) return ignore(e.time ? "time out of range" : "no time");
    if (e.args.kind != Kind::object) return ignore("counter without value");
    json::Scanner scan{e.args.begin + 1, e.args.end};
    const int32_t on = track(e), name = text(e.name);
    bool last = false, any = false;
    while (!last) {
        Value key, value;
        if (!scan.space() || *scan.at == '}' || !scan.string(key) || !scan.expect(':', "") || !scan.value(value)) break;
        if (!scan.separator('}', last)) break;
        const double number =
            value.kind == Kind::number ? std::strtod(std::string(value.text()).c_str(), nullptr) : NAN;
        if (!std::isfinite(number)) continue;
        const std::string series = json::decode(key);
        const bool plain = series.empty() || series == "value" || series == strings[name];
        counters.track.push(on);
        counters.name.push(plain ? name : strings.intern(std::string(strings[name]) + " " + series));
        counters.time.push(when.rounded());
        counters.value.push(number);
        any = true;
    }
    if (!any) ignore("counter without value");
}

void Table::add_flow(const Event& e, char phase) {
    FineTime when;
    if (!time(e.time, when)) return ignore(e.time ? "time out of range" : "no time");
    const Id id = id_of(e);
    if (id.kind == Id::none) return ignore("flow without id");
    flows.phase.push(phase);
    flows.track.push(track(e));
    flows.name.push(text(e.name));
    flows.category.push(category(e));
    flows.time.push(when.rounded());
    flows.id.push(id.value);
    flows.id_kind.push(id.kind);
    flows.enclosing.push(phase != 'f' || (e.bind.kind == Kind::string && e.bind.inner() == "e"));
}

void Table::add_end(const Event& e) {
    FineTime when;
    if (!time(e.time, when)) return ignore(e.time ? "time out of range" : "no time");
    ends_.push_back({track(e), when.rounded(), order_, std::string(args(e, false))});
}

void Table::add_async(const Event& e, char phase) {
    FineTime when;
    if (!time(e.time, when)) return ignore(e.time ? "time out of range" : "no time");
    const Id id = id_of(e);
    if (id.kind == Id::none) return ignore("asynchronous event without id");
    async_.push_back(
        {phase, track(e), text(e.name), category(e), text(e.scope), id, when.rounded(), std::string(args(e))});
}

void Table::finish() {
    pair_ends();
    pair_async();
    const size_t rows = spans.rows();
    for (auto* column : {&spans.cpu, &spans.correlation, &spans.stream, &spans.device}) column->finish(rows);
    spans.call_stack.finish(rows);
}

// Pairs B with E on each track in the order of time; events of one time stay in the order of the file.
void Table::pair_ends() {
    struct Item {
        int32_t track;
        int64_t time, order, span;  // span < 0: an end, ~index
    };
    std::vector<Item> items;
    items.reserve(begins_.size() + ends_.size());
    for (const Begin& b : begins_)
        items.push_back({spans.track[b.span], spans.start[b.span], b.order, int64_t(b.span)});
    for (size_t i = 0; i < ends_.size(); ++i)
        items.push_back({ends_[i].track, ends_[i].time, ends_[i].order, ~int64_t(i)});
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
        return std::tie(a.track, a.time, a.order) < std::tie(b.track, b.time, b.order);
    });
    std::vector<size_t> open;
    std::vector<std::pair<size_t, size_t>> patches;
    int32_t track = -1;
    for (const Item& item : items) {
        if (item.track != track) open.clear();
        track = item.track;
        if (item.span >= 0) {
            open.push_back(size_t(item.span));
        } else if (open.empty()) {
            ignore("end without begin");
        } else {
            const size_t row = open.back();
            open.pop_back();
            spans.duration[row] = item.time - spans.start[row];
            if (!ends_[size_t(~item.span)].args.empty()) patches.emplace_back(row, size_t(~item.span));
        }
    }
    if (!patches.empty()) merge_args(patches);
    begins_ = {};
    ends_ = {};
}

// An end may have arguments of its own: they follow those of the begin.
void Table::merge_args(const std::vector<std::pair<size_t, size_t>>& patches) {
    std::vector<std::pair<size_t, size_t>> sorted = patches;
    std::sort(sorted.begin(), sorted.end());
    ChunkedTextColumn merged;
    auto next = sorted.begin();
    size_t row = 0;
    for (size_t c = 0; c < spans.args.chunks(); ++c) {
        const ChunkedTextColumn::Chunk& chunk = spans.args.chunk(c);
        for (size_t i = 0; i + 1 < chunk.offsets.size(); ++i, ++row) {
            std::string_view text(chunk.bytes.data() + chunk.offsets[i],
                                  size_t(chunk.offsets[i + 1] - chunk.offsets[i]));
            if (next == sorted.end() || next->first != row) {
                merged.push(text);
                continue;
            }
            const std::string& more = ends_[(next++)->second].args;
            if (text.empty()) {
                merged.push(more);
            } else {
                merged.push(text.substr(0, text.size() - 1));
                merged.append_to_last(",");
                merged.append_to_last(std::string_view(more).substr(1));
            }
        }
    }
    spans.args = std::move(merged);
}

// Asynchronous spans of one id nest; spans of different ids overlap freely. So each outermost span gets the first free
// lane of its process and category, and its inner spans are put on the same lane: all spans of a lane nest.
void Table::pair_async() {
    std::vector<size_t> order(async_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto group = [&](size_t i) {
        const Async& a = async_[i];
        return std::tuple(pid_kind[size_t(a.track)], pid[size_t(a.track)], a.category, a.scope, a.id.kind, a.id.value);
    };
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return std::tuple(group(a), async_[a].time, a) < std::tuple(group(b), async_[b].time, b);
    });
    struct Pair {
        size_t begin;
        int64_t end;
        size_t root;  // number of the outermost pair
        const std::string* args;
    };
    std::vector<Pair> pairs;
    std::vector<size_t> open;
    for (size_t n = 0; n < order.size(); ++n) {
        const Async& a = async_[order[n]];
        if (n && group(order[n]) != group(order[n - 1])) open.clear();
        if (a.phase == 'b') {
            pairs.push_back({order[n], null_int64, open.empty() ? pairs.size() : pairs[open.front()].root, nullptr});
            open.push_back(pairs.size() - 1);
        } else if (a.phase == 'n') {
            instants.track.push(a.track);
            instants.name.push(a.name);
            instants.category.push(a.category);
            instants.time.push(a.time);
            instants.args.push(a.args);
        } else if (open.empty()) {
            ignore("end without begin");
        } else {
            pairs[open.back()].end = a.time;
            pairs[open.back()].args = &a.args;
            open.pop_back();
        }
    }
    // Lanes, in the order of time. An outermost span without an end keeps its lane.
    std::vector<size_t> roots;
    for (size_t i = 0; i < pairs.size(); ++i)
        if (pairs[i].root == i) roots.push_back(i);
    std::stable_sort(roots.begin(), roots.end(),
                     [&](size_t a, size_t b) { return async_[pairs[a].begin].time < async_[pairs[b].begin].time; });
    using Free = std::pair<int64_t, int64_t>;  // free from, lane
    std::map<std::tuple<int8_t, int64_t, int32_t>, std::priority_queue<Free, std::vector<Free>, std::greater<>>> lanes;
    std::vector<int32_t> tracks(pairs.size());
    for (const size_t root : roots) {
        const Async& a = async_[pairs[root].begin];
        const Id process{Id::Kind(pid_kind[size_t(a.track)]), pid[size_t(a.track)]};
        auto& free = lanes[{process.kind, process.value, a.category}];
        int64_t lane = int64_t(free.size());
        if (!free.empty() && free.top().first <= a.time) {
            lane = free.top().second;
            free.pop();
        }
        free.push({pairs[root].end == null_int64 ? INT64_MAX : pairs[root].end, lane});
        tracks[root] = track({process, {Id::lane, (int64_t(a.category) << 32) | lane}});
    }
    for (const Pair& p : pairs) {
        const Async& a = async_[p.begin];
        std::string args = a.args;
        if (p.args && !p.args->empty() && *p.args != a.args) {
            args = args.empty() ? *p.args : args.substr(0, args.size() - 1) + "," + p.args->substr(1);
        }
        push_span(tracks[p.root], a.name, a.category, a.time, p.end == null_int64 ? null_int64 : p.end - a.time, args);
    }
    async_ = {};
}

}  // namespace eventide::chrome
