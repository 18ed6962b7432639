#include "formats/perfetto/pftrace_writer.hpp"

#include <cmath>

#include "encoding/bytes.hpp"
#include "encoding/deflate.hpp"
#include "encoding/proto.hpp"
#include "formats/perfetto/annotation_writer.hpp"
#include "formats/perfetto/fields.hpp"

namespace eventide::formats {
namespace {

constexpr size_t piece = 1 << 16;  // bytes that are compressed and written at once; small enough for the cache
constexpr uint64_t boottime = fields::clock::boottime, incremental_clock = fields::clock::first_of_sequence;

namespace annotation = fields::annotation;
namespace event = fields::event;
namespace packet = fields::packet;

// A dictionary whose entries a sequence introduces at their first use. The iid in the file is the code + 1 + `shift`.
class SequenceDictionary {
  public:
    SequenceDictionary(const Texts& texts, uint32_t field, uint64_t shift = 0)
        : texts_(texts), field_(field), shift_(shift), introduced_in_(size_t(texts.count), 0) {}

    uint64_t use(int64_t code, uint32_t sequence, Bytes& introductions) {
        const uint64_t iid = uint64_t(code) + 1 + shift_;
        if (introduced_in_[size_t(code)] != sequence) {
            introduced_in_[size_t(code)] = sequence;
            std::string entry;
            proto::number(entry, fields::interned_text::iid, iid);
            proto::bytes(entry, fields::interned_text::text, texts_[code]);
            proto::bytes(introductions, field_, entry);
        }
        return iid;
    }
    int64_t count() const { return texts_.count; }

  private:
    const Texts& texts_;
    const uint32_t field_;
    const uint64_t shift_;
    std::vector<uint32_t> introduced_in_;
};

class Writer {
  public:
    Writer(const PftraceInput& input, const Lanes& lanes, Sink& sink)
        : in_(input),
          lanes_(lanes),
          flows_(input.spans, input.edges, lanes),
          sink_(sink),
          names_(in_.names, fields::interned_data::names),
          categories_(in_.categories, fields::interned_data::categories),
          places_(in_.places, fields::interned_data::strings),
          outcomes_(in_.outcomes, fields::interned_data::strings, uint64_t(in_.places.count)) {}

    int64_t write() {
        int64_t instant = 0;
        for (size_t lane = 0; lane < lanes_.track.size(); ++lane) write_lane(lane, instant);
        for (int64_t i = 0; i < in_.counters.count;) i = write_series(i);
        if (!out_.empty()) sink_.write(out_);
        return flows_.drawn();
    }

  private:
    void write_lane(size_t lane, int64_t& instant) {
        const auto begin = lanes_.order.begin() + lanes_.first[lane],
                   end = lanes_.order.begin() + lanes_.first[lane + 1];
        const auto has_instant = [&] {
            return instant < in_.instants.count && in_.instants.track[instant] == int32_t(lane);
        };
        if (begin == end && !has_instant()) return;
        start_sequence(lane);
        open_.clear();
        // Writes everything before `limit`: ends of spans up to that time, instants before it.
        const auto advance = [&](int64_t limit) {
            for (;;) {
                const int64_t closes = open_.empty() ? forever : in_.spans.end(open_.back());
                if (has_instant() && in_.instants.time[instant] <= closes && in_.instants.time[instant] < limit)
                    write_instant(instant++);
                else if (closes < forever && closes <= limit)
                    write_end();
                else
                    break;
            }
        };
        for (auto row = begin; row != end; ++row) {
            advance(in_.spans.start[*row]);
            write_begin(*row);
            open_.push_back(*row);
        }
        advance(forever);
        while (has_instant()) write_instant(instant++);  // at the very last nanosecond
    }

    int64_t write_series(int64_t i) {
        const Counters& c = in_.counters;
        const int32_t series = c.series[i];
        start_sequence(lanes_.track.size() + size_t(series));
        for (; i < c.count && c.series[i] == series; ++i) {
            event_.clear();
            proto::number(event_, event::type, event::counter);
            const double value = c.value[i];
            if (value == std::floor(value) && std::fabs(value) < 9e15 && !std::signbit(value))
                proto::number(event_, event::counter_value, uint64_t(value));
            else
                proto::real(event_, event::double_counter_value, value);
            finish(c.time[i], false);
        }
        return i;
    }

    void start_sequence(size_t track) {
        ++sequence_;
        annotations_.new_sequence();
        previous_ = uint64_t(in_.first) - uint64_t(in_.base);
        std::string defaults, inner, packet;
        proto::number(inner, event::track_uuid, in_.first_track + track);
        proto::number(defaults, fields::defaults::timestamp_clock_id, incremental_clock);
        proto::bytes(defaults, fields::defaults::track_event, inner);
        proto::number(packet, packet::sequence_id, sequence_);
        proto::number(packet, packet::sequence_flags, packet::state_cleared_flag);
        proto::number(packet, packet::first_on_sequence, 1);
        proto::bytes(packet, packet::defaults, defaults);
        std::string snapshot;
        for (const uint64_t clock : {boottime, incremental_clock}) {
            inner.clear();
            proto::number(inner, fields::clock::id, clock);
            proto::number(inner, fields::clock::timestamp, previous_);
            if (clock == incremental_clock) proto::number(inner, fields::clock::is_incremental, 1);
            proto::bytes(snapshot, fields::clock_snapshot::clocks, inner);
        }
        put(packet);
        packet.clear();
        proto::number(packet, packet::sequence_id, sequence_);
        proto::bytes(packet, packet::clock_snapshot, snapshot);
        proto::number(packet, packet::timestamp, previous_);
        proto::number(packet, packet::timestamp_clock_id, boottime);
        put(packet);
    }

    void write_begin(int64_t row) {
        const Spans& s = in_.spans;
        event_.clear();
        proto::number(event_, event::type, event::slice_begin);
        name(s.name[row], s.category[row]);
        arguments(s.name[row], s.args[row], [&](Bytes& own) {
            if (s.submit[row] != null_int64)
                integer(own, "queued_ns", uint64_t(s.start[row]) - uint64_t(s.submit[row]));
            if (s.cpu[row] != null_int64) integer(own, "cpu_ns", uint64_t(s.cpu[row]));
            if (s.work[row] != null_int64) integer(own, "work", uint64_t(s.work[row]));
            if (s.correlation[row] != null_int64) integer(own, "correlation", uint64_t(s.correlation[row]));
            if (s.outcome[row] >= 0) text(own, "outcome", outcomes_, s.outcome[row]);
            stack(own, s.stack[row]);
        });
        flows(row, false);
        finish(s.start[row]);
    }

    void write_end() {
        const int64_t row = open_.back();
        open_.pop_back();
        event_.clear();
        proto::number(event_, event::type, event::slice_end);
        flows(row, true);
        finish(in_.spans.end(row), false);
    }

    void write_instant(int64_t row) {
        event_.clear();
        proto::number(event_, event::type, event::instant);
        name(in_.instants.name[row], in_.instants.category[row]);
        arguments(in_.instants.name[row], in_.instants.args[row],
                  [&](Bytes& own) { stack(own, in_.instants.stack[row]); });
        finish(in_.instants.time[row]);
    }

    void name(int32_t name, int32_t category) {
        if (name >= 0) proto::number(event_, event::name_iid, names_.use(name, sequence_, introductions_));
        if (category >= 0)
            proto::number(event_, event::category_iids, categories_.use(category, sequence_, introductions_));
    }

    // The program's arguments by their names, and Eventide's columns as one annotation `eventide`.
    template <class F>
    void arguments(int32_t name, std::string_view args, F ours) {
        own_.clear();
        ours(own_);
        if (!args.empty() && !annotations_.append_repeated(event_, name, args) && !append_new(name, args)) {
            inner_.clear();
            proto::number(inner_, annotation::name_iid, annotations_.key("args"));
            if (!annotations_.append_members(inner_, annotation::dict_entries, args))
                proto::bytes(inner_, annotation::string_value, args);
            proto::bytes(own_, annotation::dict_entries, inner_);
        }
        if (own_.empty()) return;
        inner_.clear();
        proto::number(inner_, annotation::name_iid, annotations_.key("eventide"));
        inner_ += own_;
        proto::bytes(event_, event::debug_annotations, inner_);
    }

    // False where the arguments cannot be annotations of their own: an empty object would not be visible.
    bool append_new(int32_t name, std::string_view args) {
        if (args.find("\"eventide\"") != args.npos) return false;  // an argument may have our own name
        const size_t before = event_.size();
        if (!annotations_.append_members(event_, event::debug_annotations, args) || event_.size() == before)
            return false;
        annotations_.remember(event::debug_annotations, name, args);
        return true;
    }

    void integer(Bytes& out, std::string_view name, uint64_t value) {
        inner_.clear();
        proto::number(inner_, annotation::name_iid, annotations_.key(name));
        proto::number(inner_, annotation::int_value, value);
        proto::bytes(out, annotation::dict_entries, inner_);
    }

    void text(Bytes& out, std::string_view name, SequenceDictionary& from, int32_t code) {
        inner_.clear();
        proto::number(inner_, annotation::name_iid, annotations_.key(name));
        proto::number(inner_, annotation::string_value_iid, from.use(code, sequence_, introductions_));
        proto::bytes(out, annotation::dict_entries, inner_);
    }

    void stack(Bytes& out, int32_t stack) {
        if (stack < 0) return;
        integer(out, "stack", uint64_t(stack));
        if (stack < places_.count()) text(out, "called_from", places_, stack);
    }

    void flows(int64_t row, bool at_end) {
        for (const FlowEnd* f = flows_.begin(row); f != flows_.end(row); ++f)
            if (f->at_end == at_end)
                proto::fixed64(event_, f->head ? event::terminating_flow_ids : event::flow_ids, uint64_t(f->edge) + 1);
    }

    // Writes the packet around `event_`, with the names that it is the first to use.
    void finish(int64_t time, bool uses_names = true) {
        const uint64_t now = uint64_t(time) - uint64_t(in_.base);
        packet_.clear();
        proto::number(packet_, packet::timestamp, now - previous_);
        previous_ = now;
        proto::number(packet_, packet::sequence_id, sequence_);
        if (uses_names) proto::number(packet_, packet::sequence_flags, packet::needs_state_flag);
        annotations_.append_new_names(introductions_);
        if (!introductions_.empty()) proto::bytes(packet_, packet::interned_data, introductions_);
        introductions_.clear();
        proto::varint(packet_, proto::bytes_field(packet::track_event));
        proto::varint(packet_, event_.size());
        put(packet_, event_);
    }

    void put(std::string_view packet, std::string_view rest = {}) {
        proto::varint(out_, proto::bytes_field(fields::trace::packet));
        proto::varint(out_, packet.size() + rest.size());
        out_ += packet;
        out_ += rest;
        if (out_.size() < piece) return;
        sink_.write(out_);
        out_.clear();
    }

    const PftraceInput& in_;
    const Lanes& lanes_;
    const Flows flows_;
    Sink& sink_;
    SequenceDictionary names_, categories_, places_, outcomes_;
    AnnotationWriter annotations_;
    std::vector<int64_t> open_;  // spans of the lane that are open, innermost last
    Bytes out_, packet_, event_, introductions_, own_, inner_;
    uint32_t sequence_ = 0;
    uint64_t previous_ = 0;  // time of the packet before
};

}  // namespace

void CompressingSink::write(std::string_view packets) {
    deflated_.clear();
    packet_.clear();
    out_.clear();
    deflate(deflated_, packets);
    proto::bytes(packet_, packet::compressed_packets, deflated_);
    proto::bytes(out_, fields::trace::packet, packet_);
    to_.write(out_);
}

int64_t write_pftrace(const PftraceInput& input, const Lanes& lanes, Sink& sink) {
    return Writer(input, lanes, sink).write();
}

}  // namespace eventide::formats
