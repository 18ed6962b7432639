#include "tracefile/trace_columns.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <iterator>

#include "base/clamped.hpp"
#include "base/flat_map.hpp"
#include "encoding/json.hpp"
#include "encoding/varint.hpp"
#include "tracefile/codec.hpp"
#include "tracefile/hook_order.hpp"
#include "tracefile/record.hpp"

namespace eventide::tracefile {
namespace {

// Arguments refer to names and are written out with them: how many bytes that may add, so that a small file cannot
// expand to any size.
constexpr size_t min_text_budget = 16 << 20, text_bytes_per_file_byte = 64;

// Piecewise linear between anchors; outside of them with the average slope.
class Clock {
  public:
    explicit Clock(std::vector<ticks::Anchor> anchors) : anchors_(std::move(anchors)) {
        if (anchors_.empty()) anchors_.push_back({0, 0, 0});
        std::erase_if(anchors_, [last = uint64_t(0), first = true](const ticks::Anchor& a) mutable {
            const bool same = !first && a.ticks == last;
            first = false;
            last = a.ticks;
            return same;
        });
        const ticks::Anchor &a = anchors_.front(), &z = anchors_.back();
        if (anchors_.size() > 1) slope_ = slope(a, z);
    }
    int64_t ns(uint64_t t) const {
        size_t next = at_;
        if (!(next > 0 && next < anchors_.size() && anchors_[next - 1].ticks <= t && t < anchors_[next].ticks))
            next = size_t(std::upper_bound(anchors_.begin(), anchors_.end(), t,
                                           [](uint64_t v, const ticks::Anchor& a) { return v < a.ticks; }) -
                          anchors_.begin());
        at_ = next;
        if (next == 0) return from(anchors_.front(), slope_, t);
        if (next == anchors_.size()) return from(anchors_.back(), slope_, t);
        const ticks::Anchor &a = anchors_[next - 1], &b = anchors_[next];
        return from(a, slope(a, b), t);
    }
    ClockFit model() const {
        ClockFit m{slope_, 0, int64_t(anchors_.size())};
        for (size_t i = 0; i < anchors_.size(); ++i) {
            int64_t off = 0;
            if (i > 0 && i + 1 < anchors_.size()) {
                const ticks::Anchor &a = anchors_[i - 1], &b = anchors_[i + 1];
                off = std::abs(clamped::subtract(from(a, slope(a, b), anchors_[i].ticks), anchors_[i].ns));
            }
            m.residual_ns = std::max(m.residual_ns, clamped::add(off, anchors_[i].width_ns / 2));
        }
        return m;
    }

  private:
    static double slope(const ticks::Anchor& a, const ticks::Anchor& b) {
        return double(clamped::subtract(b.ns, a.ns)) / double(b.ticks - a.ticks);
    }
    static int64_t from(const ticks::Anchor& a, double slope, uint64_t t) {
        return clamped::add(a.ns, clamped::round(double(int64_t(t - a.ticks)) * slope));
    }
    std::vector<ticks::Anchor> anchors_;
    double slope_ = 1;
    mutable size_t at_ = 0;
};

class Builder {
  public:
    explicit Builder(const RawTrace& raw)
        : clock_(raw.anchors),
          text_budget_(min_text_budget +
                       text_bytes_per_file_byte * (raw.bytes.size() + raw.left.size() * chunk_bytes)) {
        read_names(raw.names);
        for (const std::string_view chunk : raw.chunks) expected_ += head_of(chunk).records;
        for (const auto& chunk : raw.left) expected_ += chunk->used.load(std::memory_order_relaxed);
        out.clock = clock_.model();
    }

    void take(const ChunkHead& head, const Entry& e, std::string_view payload) {
        ++out.records[int(e.kind)];
        const int64_t time = clock_.ns(e.stamp);
        ByteReader in(payload);
        switch (e.kind) {
            case Kind::begin:
                return begin(head, e, time, in);
            case Kind::end:
                return ends_.push_back({e.b << 32 | (e.a & 0xffffffff), time, int32_t(e.name)});
            case Kind::instant:
                return instant(head, e, time, in);
            case Kind::counter:
                return counter(head, e, time, in);
            case Kind::span:
                return span(head, e, in);
            case Kind::edge:
                return edge(head, e, in);
            case Kind::hook:
                return hook(head, e, time, in);
            case Kind::none:
                return;
        }
    }

    void finish() {
        sort_by_time(out.hooks);
        for (const End& end : ends_) {
            const size_t* row = open_.find({end.span});
            if (!row) {
                ++out.lost_ends;
                continue;
            }
            out.spans.end[*row] = std::max(end.time, out.spans.start[*row]);
            out.spans.error[*row] = end.error;
        }
    }

    TraceColumns out;

  private:
    struct End {
        uint64_t span;
        int64_t time;
        int32_t error;
    };

    // So that columns are never moved. Memory that no row is written to costs nothing.
    static void reserve(size_t rows, auto&... columns) { (columns.reserve(rows + 1), ...); }

    void read_names(std::string_view bytes) {
        ByteReader in(bytes);
        while (in.left()) {
            const auto kind = NameKind(in.byte());
            const uint64_t id = in.varint();
            const std::string_view text = in.bytes(in.varint());
            if (in.bad()) return;
            if (kind == NameKind::stack) {
                out.stacks[id] = text;
                continue;
            }
            auto& list = kind == NameKind::text ? out.texts : out.tracks;
            if (kind != NameKind::text && kind != NameKind::track) return;
            if (!id || id > list.size() + 1) return;  // numbers are assigned in the order of writing
            if (id > list.size()) list.emplace_back();
            list[id - 1] = text;
        }
    }

    std::string_view text_of(uint64_t id) {
        if (!id || id > out.texts.size()) return "?";
        const std::string_view text = out.texts[id - 1];
        if (text.size() > text_budget_) {
            ++out.left_out;
            return "?";
        }
        text_budget_ -= text.size();
        return text;
    }

    static std::string number(double v) {
        if (!std::isfinite(v)) return std::isnan(v) ? "\"nan\"" : v > 0 ? "\"inf\"" : "\"-inf\"";
        char text[32];  // as %.15g or %.17g, independent of the locale
        double again = 0;
        const char* end = std::to_chars(text, std::end(text), v, std::chars_format::general, 15).ptr;
        std::from_chars(text, end, again);
        if (again != v) end = std::to_chars(text, std::end(text), v, std::chars_format::general, 17).ptr;
        return std::string(text, size_t(end - text));
    }

    // A JSON object, or an empty text without arguments. A time among them is stored in `time`.
    std::string arguments(ByteReader& in, int64_t* time) {
        if (!in.left()) return {};
        json::Object object;
        std::string whole;
        bool any = false;
        while (in.left()) {
            const uint64_t key = in.varint();
            const auto type = ArgumentType(in.byte());
            std::string value;
            switch (type) {
                case ArgumentType::none:
                    value = "null";
                    break;
                case ArgumentType::no:
                    value = "false";
                    break;
                case ArgumentType::yes:
                    value = "true";
                    break;
                case ArgumentType::whole:
                    value = std::to_string(in.signed_varint());
                    break;
                case ArgumentType::real:
                    value = number(in.fixed<double>());
                    break;
                case ArgumentType::text:
                case ArgumentType::cut_text:
                    value = json::quote(in.bytes(in.varint()));
                    break;
                case ArgumentType::json:
                    value = in.bytes(in.varint());
                    break;
                case ArgumentType::time: {
                    const int64_t given = in.signed_varint();
                    if (time) *time = given;
                    continue;
                }
            }
            if (in.bad()) break;
            if (!key && type == ArgumentType::json) {
                whole = value;
                continue;
            }
            object.add(text_of(key), value);
            any = true;
        }
        return any ? object.done() : whole;
    }

    void begin(const ChunkHead& head, const Entry& e, int64_t time, ByteReader& in) {
        open_.at({uint64_t(head.track) << 32 | (e.a & 0xffffffff)}) = out.spans.start.size();
        add_span(head.track, e.name, 0, uint32_t(e.b), time, null_int64, arguments(in, nullptr));
    }

    void add_span(uint32_t track, uint32_t name, uint32_t category, uint32_t stack, int64_t start, int64_t end,
                  const std::string& args, const int64_t (&more)[4] = {null_int64, null_int64, null_int64, null_int64},
                  uint32_t outcome = 0) {
        SpanColumns& s = out.spans;
        if (s.track.empty())
            reserve(expected_, s.track, s.name, s.category, s.stack, s.outcome, s.error, s.start, s.end, s.submit,
                    s.cpu, s.work, s.correlation, s.arguments.offsets);
        s.track.push_back(int32_t(track));
        s.name.push_back(int32_t(name));
        s.category.push_back(int32_t(category));
        s.stack.push_back(int32_t(stack));
        s.outcome.push_back(int32_t(outcome));
        s.error.push_back(0);
        s.start.push_back(start);
        s.end.push_back(end);
        s.submit.push_back(more[0]);
        s.cpu.push_back(more[1]);
        s.work.push_back(more[2]);
        s.correlation.push_back(more[3]);
        s.arguments.add(args);
    }

    void span(const ChunkHead& head, const Entry& e, ByteReader& in) {
        const auto track = uint32_t(in.varint());
        const auto category = uint32_t(in.varint()), stack = uint32_t(in.varint());
        const uint64_t mask = in.varint();
        int64_t more[4] = {null_int64, null_int64, null_int64, null_int64};
        for (int i = 0; i < 4; ++i)
            if (mask >> i & 1) more[i] = int64_t(in.varint());
        if (mask & 1) more[0] = clamped::add(int64_t(e.a), unzigzag(uint64_t(more[0]) - 1));
        const auto outcome = uint32_t(mask >> 4 & 1 ? in.varint() : 0);
        add_span(track ? track : head.track, e.name, category, stack, int64_t(e.a), int64_t(e.b),
                 arguments(in, nullptr), more, outcome);
    }

    void instant(const ChunkHead& head, const Entry& e, int64_t time, ByteReader& in) {
        const std::string args = arguments(in, &time);
        InstantColumns& c = out.instants;
        const auto track = uint32_t(e.a >> 32);
        c.track.push_back(int32_t(track ? track : head.track));
        c.name.push_back(int32_t(e.name));
        c.category.push_back(int32_t(e.a & 0xffffffff));
        c.stack.push_back(int32_t(e.b));
        c.time.push_back(time);
        c.arguments.add(args);
    }

    void counter(const ChunkHead& head, const Entry& e, int64_t time, ByteReader& in) {
        (void)arguments(in, &time);
        CounterColumns& c = out.counters;
        c.track.push_back(int32_t(e.b));
        c.thread.push_back(int32_t(head.track));
        c.name.push_back(int32_t(e.name));
        c.time.push_back(time);
        c.value.push_back(std::bit_cast<double>(e.a));
    }

    void edge(const ChunkHead& head, const Entry& e, ByteReader& in) {
        EdgeColumns& c = out.edges;
        const auto from = uint32_t(in.varint()), to = uint32_t(in.varint());
        c.kind.push_back(int32_t(e.name));
        c.from_track.push_back(int32_t(from ? from : head.track));
        c.to_track.push_back(int32_t(to ? to : head.track));
        c.from_time.push_back(int64_t(e.a));
        c.to_time.push_back(int64_t(e.b));
        const uint64_t mask = in.varint();
        c.event.push_back(mask & 1 ? int64_t(in.varint()) : null_int64);
        c.version.push_back(mask & 2 ? int64_t(in.varint()) : null_int64);
        c.correlation.push_back(mask & 4 ? int64_t(in.varint()) : null_int64);
    }

    void hook(const ChunkHead& head, const Entry& e, int64_t time, ByteReader& in) {
        HookColumns& c = out.hooks;
        if (c.hook.empty())
            reserve(expected_, c.hook, c.end, c.outcome, c.known, c.thread, c.name, c.device, c.stream, c.event,
                    c.version, c.work, c.handle, c.bytes, c.start, c.finish, c.time, c.waited, c.cpu, c.group, c.stack,
                    c.access_offsets);
        const uint64_t mask = in.varint();
        const auto field = [&](int bit) { return mask >> bit & 1 ? in.varint() : 0; };
        c.hook.push_back(int32_t(e.a & 255));
        c.end.push_back(int32_t(e.a >> 8 & 1));
        c.outcome.push_back(int32_t(e.a >> 9 & 7));
        c.known.push_back(int32_t(e.a >> 12 & 1));
        c.thread.push_back(int32_t(head.track));
        c.name.push_back(int32_t(e.name));
        c.device.push_back(int32_t(field(0)));
        c.stream.push_back(int64_t(field(1)));
        c.event.push_back(int64_t(field(2)));
        c.version.push_back(int64_t(field(3)));
        c.work.push_back(int64_t(field(4)));
        c.handle.push_back(field(5));
        c.bytes.push_back(field(6));
        const uint64_t start = field(7);
        c.start.push_back(start ? clamped::add(int64_t(e.b), unzigzag(start - 1)) : null_int64);
        c.finish.push_back(start ? int64_t(e.b) : null_int64);
        c.time.push_back(e.b && !start ? int64_t(e.b) : time);
        c.waited.push_back(int64_t(field(8)));
        c.cpu.push_back(mask >> 9 & 1 ? int64_t(in.varint()) : null_int64);
        c.group.push_back(int32_t(field(10)));
        c.stack.push_back(int32_t(field(11)));
        if (mask >> 12 & 1) accesses(in);
        c.access_offsets.push_back(int64_t(c.access_address.size()));
    }

    void accesses(ByteReader& in) {
        HookColumns& c = out.hooks;
        const uint64_t reads = in.varint(), all = reads + in.varint();
        for (uint64_t i = 0; i < all && !in.bad(); ++i) {
            const uint64_t address = in.varint(), bytes = in.varint();
            const uint8_t flags = in.byte();
            const uint64_t run = flags & 2 ? in.varint() : 0, stride = flags & 2 ? in.varint() : 0;
            if (in.bad()) return;
            c.access_address.push_back(address);
            c.access_bytes.push_back(bytes);
            c.access_write.push_back(i >= reads);
            c.access_run.push_back(run);
            c.access_stride.push_back(stride);
            c.access_possible.push_back(flags & 1);
        }
    }

    Clock clock_;
    size_t expected_ = 0;  // at most as many records
    size_t text_budget_;   // bytes of names that may still be written out
    LargeVector<End> ends_;
    FlatMap<1, size_t> open_;  // by track and number
};

}  // namespace

TraceColumns columns_of(const RawTrace& raw) {
    Builder builder(raw);
    const Visit visit = [&](const ChunkHead& head, const Entry& e, std::string_view payload) {
        builder.take(head, e, payload);
    };
    for (const std::string_view chunk : raw.chunks)
        if (!decode(chunk, visit)) ++builder.out.damaged;
    for (const auto& chunk : raw.left) walk(*chunk, chunk->used.load(std::memory_order_relaxed), visit);
    builder.finish();
    return std::move(builder.out);
}

}  // namespace eventide::tracefile
