// The state of the engine. Agents are streams and host threads; each has a place (slot) in the clocks.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sanitizer/engine.hpp"
#include "sanitizer/shadow.hpp"
#include "sanitizer/vector_clock.hpp"

namespace eventide::sanitizer {

// In the ids of agents that are the functions of a stream's works.
inline constexpr uint64_t function_bit = uint64_t{1} << 63;

// A wait or synchronization that is not decided yet: it is redundant if the clock of the agent at its next action would
// be the same without it.
struct Pending {
    Point gained;  // what the agent acquires with it
    Point host;    // the past of the thread that called it, which a wait acquires as well
    uint32_t site = 0;
};

struct Gap {
    Clock base;  // the clock of the agent without any of them
    std::vector<Pending> waits;
};

// A host thread, a stream, or the functions of a stream's works: they run one after the other, each inside of its work.
struct Agent {
    uint64_t id = 0;
    bool thread = false;  // true for the functions, too
    uint32_t slot = 0;
    uint64_t count = 0;    // works or host accesses so far
    uint64_t version = 0;  // of `known` and `begun`
    Clock known;
    Clock begun;  // Point::begun
    Gap gap;

    // Of streams.
    uint64_t device = 0;
    Agent* behind = nullptr;  // the default stream it is ordered with
    std::vector<std::pair<Agent*, uint64_t>>
        members;               // of a default stream: the others, and their versions at the last meeting
    uint32_t host_slot = ~0u;  // the thread whose past it acquired last, and that thread's version
    uint64_t host_version = 0;
    uint64_t recorded_event = 0;  // the newest record on it, for advice
    uint64_t recorded_version = 0;
    uint64_t recorded_count = 0;
    std::vector<std::pair<uint64_t, uint64_t>> works;  // a ring: id and count of the last works
    size_t next_work = 0;
    uint64_t seen_work = 0;                         // the newest whose accesses were observed while it ran
    uint64_t unknown_work = 0;                      // the newest whose accesses were unknown when it was submitted
    std::deque<std::pair<uint64_t, Point>> clocks;  // its clocks from that count on; the last changes
    uint64_t running = 0;                           // the count of the work whose function acts now (enter_work)
    std::deque<std::pair<uint64_t, Point>> inside;  // what functions had acquired when they returned, by count

    Point quiet;  // of its newest work that declares to access no memory; count 0: none

    Point point() const { return {known, slot, count, begun}; }
};

struct EventState {
    std::vector<std::pair<uint64_t, Point>> versions;  // the last few, oldest first
    uint64_t last = 0;
    bool created = false;
    Entry by;  // its creation
};

// A conflict of two actions. A signal that one of them receives later, or its cancellation, may refute it.
struct Conflict {
    size_t finding;
    uint32_t first_slot, second_slot;
    uint64_t first_count, second_count;
    Doubt doubt;
    bool before;  // what the first has replaced conflicts with the second as well

    // Whether it does not exist if that action does not happen.
    bool rests_on(const Point& p) const {
        return (second_slot == p.slot && second_count == p.count) ||
               (first_slot == p.slot && first_count == p.count && !before);
    }
};

// All runs of one wait or synchronization in the code.
struct Site {
    uint64_t runs = 0;
    uint64_t redundant = 0;
    bool needed = false;  // needed by something other than its stream's next step
    Finding finding;      // of the first redundant run
};

// An action of a numbered program (Options::numbered), checked by finish() in the order of the numbers.
struct Action {
    enum class Is : uint8_t { passed, accessed, allocated, used, freed };  // passed: it touches no memory
    Is is = Is::passed;
    At at;
    std::string name;
    Agent* agent = nullptr;
    Point point;                // the agent's point then
    std::vector<Pending> wait;  // of a wait: itself
    std::vector<Range> reads, writes;
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint64_t stream = no_stream;
    bool idle = false;
};

struct Engine::State {
    explicit State(Options o) : options(o), shadow(o.max_freed) {}

    Options options;
    std::unique_ptr<Engine> strict;  // with predict: the same program with hand-over, to separate certain from possible
    std::unordered_map<uint64_t, std::unique_ptr<Agent>> streams, threads;
    std::vector<Agent*> by_slot;
    std::vector<std::unique_ptr<Agent>> retired;  // ended; their slots are reused
    std::unordered_map<uint64_t, EventState> events;
    std::unordered_map<uint64_t, Point> tokens;  // host_signal
    std::unordered_map<uint64_t, std::vector<Point>> marks;
    Shadow shadow;
    std::vector<Finding> findings;
    std::map<std::tuple<uint64_t, uint64_t, uint64_t>, size_t> seen;
    std::pair<uint64_t, uint64_t> last_pair;  // the works of the last finding
    std::deque<Conflict> conflicts;           // the last ones
    std::unordered_set<uint64_t> cancelled;   // works whose entries may still be in the shadow
    std::vector<Agent*> with_inside;          // streams whose `inside` is not empty
    std::unordered_map<uint64_t, uint32_t> site_of;
    std::vector<Site> sites;
    Coverage coverage;
    bool finished = false;
    uint64_t newest_work = 0;
    uint64_t unseen_streams = 0;                     // streams with work whose accesses may still be observed
    bool late = false;                               // the current access belongs to work that was submitted earlier
    std::vector<Action> actions;                     // with Options::numbered: all actions
    std::unordered_map<uint64_t, size_t> action_at;  // by number

    Agent* last_stream = nullptr;
    Agent* last_thread = nullptr;

    // names
    std::unordered_map<std::string, uint32_t> name_ids;
    std::vector<std::string> names{""};
    uint32_t last_name = 0;
    size_t sweep_names_at = 1 << 16;
    uint32_t intern(std::string_view text);
    void sweep_names();

    // agents (engine.cpp)
    Agent& stream(uint64_t id);
    Agent& thread(uint64_t id);
    Agent& thread(const At& at);  // who acts: the host thread, or the function of a work item
    Agent& make_agent(bool thread, uint64_t id);
    void retire(bool thread, uint64_t id);
    bool acquire(Agent& a, const Point& p);
    void absorb(Agent& a, const Point& p);  // acquire, for pending waits as well
    Point past(const At& at, Agent& t);
    Agent& enter(const At& at, uint64_t id, Agent& t);  // a stream about to act for thread t
    void enter_host(const At& at, Agent& s, Agent& t);  // and it acquires the thread's past
    Point meeting(Agent& s, const Point& host, bool remember);
    void meet_default(Agent& s, const Point& host);
    void observe(Agent& a, const Point* host, bool final = true);
    void observe_all(std::span<Agent* const> streams, std::span<const Point> points, Clock host);
    Entry entry(const At& at, const Agent& a, bool write);

    // inside of work (inside.cpp)
    void add_inside(Point& p);
    void observed(Agent& t, Point p);  // a thread found that point complete
    void received(Agent& function, const Point& p);
    void refute(const Agent& stream, const Point& received);
    Doubt doubt(const Entry& first, const Entry& second, const Agent& a) const;

    // waits (waits.cpp)
    uint32_t site(const At& at, Kind kind, const Agent& a, uint64_t other);
    void wait_for(Agent& a, const Point& gained, const Point& host, uint32_t site);
    void wait_on(const At& at, Agent& s, Agent& t, Point point, uint32_t site);
    void sync_for(Agent& t, std::span<const Point> points, uint32_t site);
    void redundant(uint32_t site) { ++sites[site].redundant; }

    // numbered (numbered.cpp)
    void passed(const At& at, Agent& a) {
        if (options.numbered) add_action(at, a, Action::Is::passed);
    }
    Action& add_action(const At& at, Agent& a, Action::Is is);
    void play();

    // memory (races.cpp)
    void accessed(const At& at, Agent& a, std::span<const Range> reads, std::span<const Range> writes);
    void allocated(const At& at, const Agent& t, uint64_t address, uint64_t bytes, uint64_t stream);
    void used(uint64_t address, uint64_t stream);
    void freed(const At& at, const Agent& a, uint64_t address, bool idle);
    void touch(const At& at, const Agent& a, const Range& range, bool write);
    void touch(Segment& s, const Entry& e, const Agent& a);
    void meet(const Segment& s, const Entry& e, const Agent& a);
    void add(Entries& all, const Entry& e) const;
    void conflict(const Segment& s, const Entry& before, const Entry& now, const Agent& a);
    void used_freed(const Segment& s, const Entry& e, const Agent& a);
    void release(Segment& s, const Entry& by, const Point& at, const std::vector<Point>& users);
    void drop_cancelled(Segment& s);

    // findings (findings.cpp)
    void report(Finding&& f, const Entry* first = nullptr, const Entry* second = nullptr, bool before = false);
    void retract(const Point& of);                       // that action does not happen
    bool follows(const Entry& e, const Agent& a) const;  // when late: the entry was added before, and comes after
    Party party(const Entry& e, Party::Is is, uint64_t start, uint64_t end);
    Fix ordering_fix(const Entry& first, const Entry& second);
};

// Whether the entry is ordered before the agent's next action: the agent's clock includes it.
inline bool ordered(const Agent& a, const Entry& e) noexcept {
    return e.slot == a.slot || a.known[e.slot] >= e.count;
}

// The point of a stream at that work; count 0: the work is too old. exact: it is that work, not the last one before.
Point point_of(const Agent& stream, uint64_t work, bool* exact = nullptr);
// Its clocks at that count; the count is 0 if they are no longer kept.
Point point_at(const Agent& stream, uint64_t count);

}  // namespace eventide::sanitizer
