#include "tracefile/derived_work.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/flat_map.hpp"
#include "tracefile/device_syncs.hpp"
#include "tracefile/memory_levels.hpp"
#include "tracefile/trace_columns.hpp"

namespace eventide::tracefile {
namespace {

constexpr int64_t newest = -1;  // version of an event that a program reported itself: the last recorded one
constexpr int64_t nothing = -1;
constexpr int32_t cancelled = 4;  // Outcome::cancelled: a synchronization timed out

// Never negative, and start + length() does not overflow.
int64_t length(int64_t start, int64_t end) {
    if (end <= start) return 0;
    return int64_t(std::min(uint64_t(end) - uint64_t(start), uint64_t(std::numeric_limits<int64_t>::max())));
}

// The span of each work item by its id. Ids count up: those after the first one are places in an array.
class WorkSpans {
  public:
    void reserve(size_t submissions) { dense_.resize(submissions + submissions / 2); }
    void set(int64_t work, int64_t span) {
        if (first_ == null_int64) first_ = work;
        const uint64_t place = uint64_t(work) - uint64_t(first_);
        if (place < dense_.size())
            dense_[place] = span + 1;
        else
            others_.at({uint64_t(work)}) = span;
    }
    // `nothing` where it was not submitted in this recording.
    int64_t find(int64_t work) {
        const uint64_t place = uint64_t(work) - uint64_t(first_);
        if (place < dense_.size()) return dense_[place] - 1;
        const int64_t* found = others_.find({uint64_t(work)});
        return found ? *found : nothing;
    }

  private:
    int64_t first_ = null_int64;
    LargeVector<int64_t> dense_;  // by id, from first_ on; the span plus one, 0 where there is none
    FlatMap<1, int64_t> others_;  // by id
};

class Walk {
  public:
    Walk(const Operations& o, int64_t first_span, int32_t first_track)
        : o_(o), first_span_(first_span), first_track_(first_track) {}

    // Called once, before the first operation: reserves memory so that columns are never moved.
    void expect(size_t submissions, size_t records, size_t waits, size_t syncs) {
        const auto reserve = [](size_t rows, auto&... columns) { (columns.reserve(rows), ...); };
        auto& s = out.spans;
        auto& e = out.edges;
        reserve(submissions + syncs, s.kind, s.track, s.name, s.group, s.outcome, s.stack, s.start, s.duration,
                s.submit, s.cpu, s.work);
        reserve(submissions + waits + syncs, e.kind, e.from_track, e.to_track, e.from_time, e.from_span, e.to_time,
                e.to_span, e.event, e.version, e.correlation);
        reserve(submissions, submitted_, work_);
        records_.reserve(records);
        waits_.reserve(waits);
        reserve(syncs, syncs_, open_);
    }

    void take(int64_t row, Operation kind) {
        if (o_.stream[row]) register_stream(row, kind == Operation::stream_creation);
        switch (kind) {
            case Operation::submission:
                return submission(row);
            case Operation::completion:
                return completion(row);
            case Operation::record:
                return record(row);
            case Operation::wait:
                return wait(row);
            case Operation::stream_sync:
            case Operation::event_sync:
            case Operation::device_sync:
                return synchronization(row, kind);
            default:
                return;
        }
    }

    void add_edges() {
        add_launches();
        add_waits();
        add_synchronizations();
    }

    DerivedWork out;

  private:
    struct Stream {
        int32_t track = 0, device = 0;
        bool registered = false;
        int64_t order = nothing;  // index among the streams with work
        int64_t last = nothing;   // its last work
        int64_t waits = nothing;  // waits without later work: the newest of a linked list
    };
    struct Record {
        int64_t time = 0, before = nothing;
        uint32_t stream = 0;
    };
    struct Wait {
        int64_t time, event, version, next;
        uint32_t stream;
        int64_t span = nothing;  // the first work after it
    };
    struct Sync {
        int64_t span, event, version, before, below;
        int32_t device;
        uint32_t stream;
        bool ended = false;
    };

    uint32_t stream_of(int64_t id) {
        uint32_t& found = stream_numbers_.at({uint64_t(id)});
        if (!found) {
            streams_.emplace_back();
            found = uint32_t(streams_.size());
        }
        return found - 1;
    }

    void register_stream(int64_t row, bool creation) {
        Stream& stream = streams_[stream_of(o_.stream[row])];
        const int32_t name = creation ? o_.name[row] : 0;
        if (stream.registered && !name) return;
        if (o_.device[row]) stream.device = o_.device[row];
        stream.registered = true;
        stream.track = first_track_ + int32_t(out.streams.stream.size());
        out.streams.stream.push_back(o_.stream[row]);
        out.streams.device.push_back(stream.device);
        out.streams.name.push_back(name);
    }

    int64_t add_span(SpanKind kind, int32_t track, int64_t row) {
        auto& s = out.spans;
        const bool is_work = kind == SpanKind::work, unsubmitted = kind == SpanKind::unsubmitted;
        s.kind.push_back(int32_t(kind));
        s.track.push_back(track);
        s.name.push_back(is_work ? o_.name[row] : 0);
        s.group.push_back(is_work ? o_.group[row] : 0);
        s.outcome.push_back(0);
        s.stack.push_back(unsubmitted ? 0 : o_.stack[row]);
        s.start.push_back(o_.time[row]);
        s.duration.push_back(null_int64);
        s.submit.push_back(is_work ? o_.time[row] : null_int64);
        s.cpu.push_back(null_int64);
        s.work.push_back(is_work || unsubmitted ? o_.work[row] : null_int64);
        return int64_t(s.kind.size()) - 1;
    }

    void submission(int64_t row) {
        const uint32_t number = stream_of(o_.stream[row]);
        Stream& stream = streams_[number];
        const int64_t span = add_span(SpanKind::work, stream.track, row);
        work_.set(o_.work[row], span);
        submitted_.push_back({span, number, o_.thread[row]});
        if (stream.order == nothing) {
            stream.order = int64_t(with_work_.size());
            with_work_.push_back(number);
        }
        stream.last = span;
        while (stream.waits != nothing) {
            Wait& wait = waits_[size_t(stream.waits)];
            wait.span = span;
            stream.waits = wait.next;
        }
    }

    void completion(int64_t row) {
        const int64_t found = work_.find(o_.work[row]);
        const int32_t track = o_.stream[row] ? streams_[stream_of(o_.stream[row])].track : 0;
        const auto at = size_t(found != nothing ? found : add_span(SpanKind::unsubmitted, track, row));
        const bool timed = o_.start[row] != null_int64;
        out.spans.start[at] = timed ? o_.start[row] : o_.time[row];
        out.spans.duration[at] = timed ? length(o_.start[row], o_.finish[row]) : 0;
        out.spans.outcome[at] = o_.outcome[row];
        out.spans.cpu[at] = o_.cpu[row];
    }

    int64_t version(int64_t row) {
        if (o_.version[row] != newest) return o_.version[row];
        const int64_t* found = newest_.find({uint64_t(o_.event[row])});
        return found ? *found : 0;
    }

    void record(int64_t row) {
        const auto event = uint64_t(o_.event[row]);
        const int64_t made = o_.version[row] == newest ? int64_t(uint64_t(version(row)) + 1) : o_.version[row];
        newest_.at({event}) = made;
        const uint32_t stream = stream_of(o_.stream[row]);
        records_.at({event, uint64_t(made)}) = {o_.time[row], streams_[stream].last, stream};
    }

    void wait(int64_t row) {
        const uint32_t number = stream_of(o_.stream[row]);
        Stream& stream = streams_[number];
        waits_.push_back({o_.time[row], o_.event[row], version(row), stream.waits, number});
        stream.waits = int64_t(waits_.size()) - 1;
    }

    void synchronization(int64_t row, Operation kind) {
        int64_t& open = open_.at({uint64_t(o_.thread[row]), uint64_t(kind), uint64_t(o_.stream[row]),
                                  uint64_t(o_.event[row]), o_.handle[row]});  // the newest of a linked list, plus one
        if (o_.end[row]) {
            if (!open) return;
            Sync& sync = syncs_[size_t(open) - 1];
            out.spans.duration[size_t(sync.span)] = length(out.spans.start[size_t(sync.span)], o_.time[row]);
            sync.ended = o_.outcome[row] != cancelled;
            open = sync.below;
            return;
        }
        const bool of_stream = kind == Operation::stream_sync, of_event = kind == Operation::event_sync;
        const SpanKind what = of_stream  ? SpanKind::stream_sync
                              : of_event ? SpanKind::event_sync
                                         : SpanKind::device_sync;
        const int64_t span = add_span(what, o_.thread[row], row);
        out.waited_for.push_back(of_stream ? o_.stream[row] : of_event ? o_.event[row] : o_.device[row]);
        const uint32_t stream = stream_of(o_.stream[row]);
        syncs_.push_back({span, o_.event[row], version(row), of_stream ? streams_[stream].last : nothing, open,
                          o_.device[row], stream});
        open = int64_t(syncs_.size());
    }

    int64_t end_of(int64_t span) const {
        const int64_t duration = span == nothing ? null_int64 : out.spans.duration[size_t(span)];
        return duration == null_int64 ? null_int64 : out.spans.start[size_t(span)] + duration;
    }

    struct Edge {
        EdgeKind kind;
        int32_t from_track, to_track;
        int64_t from_time, from_span, to_time, to_span;
        int64_t event = null_int64, version = null_int64, correlation = null_int64;
    };

    void add(const Edge& edge) {
        auto& e = out.edges;
        const auto number = [this](int64_t span) { return span == nothing ? null_int64 : first_span_ + span; };
        e.kind.push_back(int32_t(edge.kind));
        e.from_track.push_back(edge.from_track);
        e.to_track.push_back(edge.to_track);
        e.from_time.push_back(edge.from_time);
        e.from_span.push_back(number(edge.from_span));
        e.to_time.push_back(edge.to_time);
        e.to_span.push_back(number(edge.to_span));
        e.event.push_back(edge.event);
        e.version.push_back(edge.version);
        e.correlation.push_back(edge.correlation);
    }

    void add_launches() {
        const auto& s = out.spans;
        for (const SubmittedWork& one : submitted_) {
            const auto i = size_t(one.span);
            add({.kind = EdgeKind::launch,
                 .from_track = one.thread,
                 .to_track = s.track[i],
                 .from_time = s.submit[i],
                 .from_span = nothing,
                 .to_time = s.start[i],
                 .to_span = one.span,
                 .correlation = s.work[i]});
        }
    }

    void add_waits() {
        for (const Wait& wait : waits_) {
            const Record* record = records_.find({uint64_t(wait.event), uint64_t(wait.version)});
            if (!record) continue;
            // A marker completes when the work before it ends, or at once if there is none.
            const int64_t passed = std::max(record->time, end_of(record->before));
            add({.kind = EdgeKind::wait,
                 .from_track = streams_[record->stream].track,
                 .to_track = streams_[wait.stream].track,
                 .from_time = passed,
                 .from_span = record->before,
                 .to_time = wait.span == nothing ? wait.time : out.spans.start[size_t(wait.span)],
                 .to_span = wait.span,
                 .event = wait.event,
                 .version = wait.version});
        }
    }

    void add_synchronization(const Sync& sync, uint32_t stream, int64_t before) {
        if (before == nothing) return;
        const int64_t start = out.spans.start[size_t(sync.span)], end = end_of(before), over = end_of(sync.span);
        add({.kind = EdgeKind::synchronize,
             .from_track = streams_[stream].track,
             .to_track = out.spans.track[size_t(sync.span)],
             .from_time = end == null_int64 ? start : end,
             .from_span = before,
             .to_time = over == null_int64 ? start : over,
             .to_span = sync.span,
             .event = sync.event ? sync.event : null_int64,
             .version = sync.event ? sync.version : null_int64});
    }

    void add_synchronizations() {
        std::vector<int32_t> devices;
        for (const uint32_t number : with_work_) devices.push_back(streams_[number].device);
        DeviceSyncs of_devices(devices);
        size_t next = 0;  // in submitted_
        for (const Sync& sync : syncs_) {
            const auto kind = SpanKind(out.spans.kind[size_t(sync.span)]);
            if (kind == SpanKind::stream_sync) {
                add_synchronization(sync, sync.stream, sync.before);
            } else if (kind == SpanKind::event_sync) {
                if (const Record* record = records_.find({uint64_t(sync.event), uint64_t(sync.version)}))
                    add_synchronization(sync, record->stream, record->before);
            } else {
                for (; next < submitted_.size() && submitted_[next].span < sync.span; ++next) {
                    const int64_t end = end_of(submitted_[next].span);
                    of_devices.submitted(uint32_t(streams_[submitted_[next].stream].order), submitted_[next].span,
                                         end == null_int64 ? std::numeric_limits<int64_t>::max() : end);
                }
                for (const uint32_t order : of_devices.sources(sync.device, sync.ended))
                    add_synchronization(sync, with_work_[order], of_devices.last_work(order));
            }
        }
    }

    struct SubmittedWork {
        int64_t span;
        uint32_t stream;
        int32_t thread;
    };

    const Operations& o_;
    int64_t first_span_;
    int32_t first_track_;
    std::vector<Stream> streams_;
    FlatMap<1, uint32_t> stream_numbers_;  // by id; the value is the index plus one
    std::vector<uint32_t> with_work_;      // streams with work, in order
    LargeVector<SubmittedWork> submitted_;
    WorkSpans work_;
    FlatMap<1, int64_t> newest_;  // by event: the version
    FlatMap<2, Record> records_;  // by event and version
    FlatMap<5, int64_t> open_;    // synchronizations that have begun
    LargeVector<Wait> waits_;
    LargeVector<Sync> syncs_;
};

}  // namespace

DerivedWork derive_work(const Operations& operations, const std::vector<Operation>& kinds, int64_t first_span,
                        int32_t first_track) {
    const auto kind_of = [&](int64_t row) {
        const auto hook = size_t(operations.hook[row]);  // a negative one becomes larger than all kinds
        return hook < kinds.size() ? kinds[hook] : Operation::other;
    };
    size_t count[operation_count] = {};
    for (int64_t row = 0; row < operations.rows; ++row) ++count[int(kind_of(row))];
    Walk walk(operations, first_span, first_track);
    walk.expect(count[int(Operation::submission)], count[int(Operation::record)], count[int(Operation::wait)],
                (count[int(Operation::stream_sync)] + count[int(Operation::event_sync)] +
                 count[int(Operation::device_sync)] + 1) /
                    2);
    MemoryLevels levels;
    for (int64_t row = 0; row < operations.rows; ++row) {
        const Operation kind = kind_of(row);
        walk.take(row, kind);
        if ((kind == Operation::allocation || kind == Operation::deallocation) && operations.device[row])
            levels.change(row, operations.device[row], operations.handle[row], operations.bytes[row],
                          kind == Operation::allocation);
    }
    walk.add_edges();
    levels.finish(walk.out.levels.operation, walk.out.levels.held);
    return std::move(walk.out);
}

}  // namespace eventide::tracefile
