// The sanitizer's engine: checks whether a stream program is correct. It depends on no device and not on Python.
//
//   Engine engine;
//   engine.submit({.thread = 1, .work = 7, .name = "copy"}, stream, reads, writes, true);   // one method per action
//   engine.record({.thread = 1}, event, 1, stream); ...                                      // of the program
//   engine.finish({.thread = 1}, true);
//   for (const Finding& f : engine.findings()) ...
//
// Happens-before: the order of each stream, the submitting thread's past before each item it submits, record before
// the waits and synchronizations that bind to that version, and what threads hand over to each other. One number per
// stream and per thread (a vector clock) says what is ordered; per range of bytes the shadow keeps the last writes and
// the reads since. So the findings do not depend on timing: one run covers every timing of that path.
//
// Not thread-safe: the caller has one lock around it (native/bindings/sanitizer/bind_live_sanitizer.cpp).
// Cost of a work with two buffers: two hash lookups, no allocation once warm; clocks are shared until they change.
// Memory: live allocations, streams and threads, and freed ranges that may still be in use (at most max_freed).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hooks/hub.hpp"

namespace eventide::sanitizer {

enum class Kind : uint8_t {
    race,
    use_after_free,
    missing_record_stream,
    wait_on_unrecorded,
    redundant_wait,
    redundant_sync,
    deadlock,
    leak,
};
std::string_view name(Kind kind) noexcept;  // "race", "use-after-free", ...

// The bytes of an access. The conflicts of a possible one are possible, not certain, and it replaces no other entry.
using Range = Access;

inline constexpr uint64_t no_stream = ~uint64_t{0};  // free() and allocate() by the host alone

// Which thread does it and where. `stack` is an id of stacks.hpp or any other number of a place in the code; 0:
// unknown. It identifies a wait, and distinguishes findings.
struct At {
    uint64_t thread = 0;
    uint32_t stack = 0;
    uint64_t work = 0;  // of works; else a number chosen by the caller, returned in findings
    std::string_view name{};
    uint64_t past = 0;  // a token of mark_thread: it was submitted then, but runs only now; 0: it was submitted now
    uint64_t inside = no_stream;  // the function of work on that stream does it (enter_work)
};

inline constexpr uint64_t newest = ~uint64_t{0};  // the newest version of an event

// One side of a finding.
struct Party {
    enum class Is : uint8_t { none, work, host, free, allocation, wait, synchronize, event };
    Is is = Is::none;
    bool write = false;
    uint64_t work = 0;
    uint64_t stream = no_stream;  // none: the host
    uint64_t thread = 0;
    uint64_t address = 0;  // of the first bytes that both touch
    uint64_t bytes = 0;    // of all of them
    uint32_t stack = 0;
    std::string name;
};

// Bytes that both sides of a finding touch.
struct Piece {
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint64_t buffer = 0;  // base address of the allocation, else of the bytes
    std::string buffer_name;
    bool first_writes = false;
    bool second_writes = false;
};

// Why a finding is possible and not certain.
enum class Doubt : uint8_t {
    none,
    inside,  // a signal from inside of one of the two orders them, if what it does after that leaves these bytes alone
    unseen,  // a host thread, or a work without accesses, follows the first: its hand-over may not be traced
    bytes,   // the bytes are an upper bound of what is accessed
    order,   // with predict: hand-over between host threads orders them in this run
};

// The smallest change that removes the finding.
struct Fix {
    enum class Do : uint8_t {
        nothing,
        wait,           // record `event` after the first on its stream (unless `recorded`), wait before the second
        synchronize,    // the same, and the second's thread synchronizes before it
        hand_over,      // the first's thread hands over to the second's: a lock, a queue, a join
        record_stream,  // of the buffer with `stream`, before the free
        free_later,     // after the second
        remove,         // the second
        record_before,  // the event, before the wait
        give_back,      // free the memory or delete the event
    };
    Do what = Do::nothing;
    bool recorded = false;  // `event` in `version` was recorded there already: only the wait is missing
    uint64_t event = 0;
    uint64_t version = 0;
    uint64_t stream = no_stream;
};

struct Finding {
    Kind kind;
    bool certain = true;
    Party first, second;  // in the order in which they were submitted; of one-sided findings only `second`
    uint64_t buffer = 0;  // base address of the allocation, else of the bytes
    std::string buffer_name;
    uint64_t event = 0;
    uint64_t version = 0;
    Fix fix;
    uint64_t count = 1;  // how often it happened; 0: what happened later has refuted it
    uint64_t sure = 0;   // how often it was certain
    Doubt doubt = Doubt::none;
    std::vector<Piece> pieces;  // the bytes of the first time, at most 64 pieces
    std::string text;           // of a deadlock: the cycle
};

struct Options {
    bool predict = false;  // hand-over between threads is ignored; what only that forbids is possible, not certain
    size_t max_freed = 1 << 16;  // freed ranges that are kept although their memory was not allocated again
    // The caller calls the engine in an order in which the actions can run, and At::work numbers them in the order of
    // submission. Memory follows the latter (owner of an address, streams of record_stream), so finish() checks it.
    bool numbered = false;
    // Host threads may hand over without a host_signal: what that could order is possible, not certain.
    bool unseen_hand_over = false;
};

// What the findings are based on.
struct Coverage {
    uint64_t works = 0;
    uint64_t known = 0;      // of them: with known accesses
    uint64_t forgotten = 0;  // freed ranges discarded because of max_freed
    uint64_t streams = 0;    // now
    uint64_t threads = 0;
    uint64_t ranges = 0;  // in the shadow now
};

class Engine {
  public:
    explicit Engine(Options options = {});
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // A stream of a device; one without this call belongs to device 0. `behind`: the default stream with which
    // it is ordered in both directions.
    void create_stream(uint64_t stream, uint64_t device = 0, uint64_t behind = no_stream);
    // It has drained: `at.thread` acquires the completion of all its work. Its slot in the clocks is reused.
    void delete_stream(const At& at, uint64_t stream);

    // known = false: its accesses are unknown.
    void submit(const At& at, uint64_t stream, std::span<const Range> reads, std::span<const Range> writes, bool known);
    // Accesses of earlier work that are observed while it runs; ignored if the work is too old. at.work is its id, and
    // works are observed in an order in which they can run. Memory with a new owner by then is attributed to that
    // owner. Exact as long as no more than 16 declared accesses of a range were submitted while work was still to be
    // observed.
    void work_access(const At& at, uint64_t stream, std::span<const Range> reads, std::span<const Range> writes);
    // It was cancelled before it began: its accesses do not happen. Of what they replaced in the shadow, those of its own
    // stream return.
    void cancel_work(uint64_t stream, uint64_t work);
    void host_access(const At& at, std::span<const Range> reads, std::span<const Range> writes);

    void create_event(const At& at, uint64_t event);
    void delete_event(uint64_t event);
    // version: the event's, counted from 1; `newest`: the next.
    void record(const At& at, uint64_t event, uint64_t version, uint64_t stream);
    // version: the one that the wait is bound to; 0: the event was never recorded.
    void wait(const At& at, uint64_t event, uint64_t version, uint64_t stream);
    // The host thread observes its completion. asked: it blocked for it, so it can be redundant; false: it did not
    // block (query, a callback).
    void synchronize_event(const At& at, uint64_t event, uint64_t version, bool asked = true);
    void synchronize_stream(const At& at, uint64_t stream, bool asked = true);
    void synchronize_device(const At& at, uint64_t device = 0, bool asked = true);
    // A Future: the work and all before it on its stream. Exact for the last works of the stream (4,096), weaker
    // before.
    void synchronize_work(const At& at, uint64_t stream, uint64_t work, bool asked = false);
    // Where others may submit between the call and its return: what is waited for, as of now, under a number; then
    // synchronize_marked when it returned, or forget_token when it gave up.
    void mark_event(uint64_t token, uint64_t event, uint64_t version);
    void mark_stream(const At& at, uint64_t token, uint64_t stream);
    void mark_device(const At& at, uint64_t token, uint64_t device = 0);
    void synchronize_marked(const At& at, uint64_t token, bool asked = true);

    // The function of a work item begins, and what it does follows with at.inside, until leave_work. Such an action is
    // after all that the work is after, and not after the work itself. Its accesses may be at any time of it: a conflict
    // with one that a signal from inside orders is possible, not certain.
    void enter_work(const At& at, uint64_t stream, uint64_t work);
    void leave_work(uint64_t stream);

    // For queues that run in another order than they were filled (a timeline semaphore's wait before its signal), with
    // Options::numbered. The caller determines an order in which all can run and calls in that order; items that were
    // submitted earlier have `past`.
    void mark_thread(uint64_t token, uint64_t thread);
    void signal(const At& at, uint64_t token, uint64_t stream);       // the stream reaches this point
    void wait_signal(const At& at, uint64_t token, uint64_t stream);  // the stream waits until another has reached it
    // All ranks have arrived: one stream each, and the thread that submitted it. It counts as work of each.
    struct Arrival {
        At at;
        uint64_t stream;
    };
    void collective(std::span<const Arrival> ranks);
    // What is complete when the stream continues: the first `count` works, signals or host accesses of each.
    struct Known {
        bool thread;
        uint64_t id;  // of the stream or thread
        uint64_t count;
    };
    void wait_known(const At& at, std::span<const Known> known, uint64_t stream);
    // What is complete when that action is, itself included.
    std::vector<Known> over_at(uint64_t work) const;
    // The thread waited for these actions; their streams may have continued since.
    void synchronize_numbered(const At& at, std::span<const uint64_t> works);

    // A range that overlaps freed memory reuses those addresses. at.name: of the buffer.
    void allocate(const At& at, uint64_t address, uint64_t bytes, uint64_t stream = no_stream);
    // On a stream: in its order. By the host: at once, but for the streams given to record_stream. idle: no work
    // that uses it is pending (the last reference was dropped), so there is nothing to check.
    void free(const At& at, uint64_t address, uint64_t stream = no_stream, bool idle = false);
    void record_stream(const At& at, uint64_t address, uint64_t stream);

    // Hand-over between host threads: the past of a signal happens before what follows a later wait for the token.
    void host_signal(const At& at, uint64_t token);
    void host_wait(const At& at, uint64_t token);
    void forget_token(uint64_t token);
    void end_thread(uint64_t thread);  // its slot in the clocks is reused

    // The end of the program. leaks: report memory and events that were never freed or deleted.
    void finish(const At& at, bool leaks);

    // In the order found; a repeated finding only increments its count. Redundant waits are added by finish(): a wait
    // is redundant only if every run of that place was.
    const std::vector<Finding>& findings() const;
    Coverage coverage() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace eventide::sanitizer
