// What the functions of works do while they run: signals, submissions, waits. Each is a point inside of its work.
#include <algorithm>

#include "sanitizer/engine_state.hpp"

namespace eventide::sanitizer {
namespace {

constexpr size_t kept_inside = 64;  // of a stream

}  // namespace

void Engine::enter_work(const At& at, uint64_t id, uint64_t work) {
    State& st = *state_;
    if (st.strict) st.strict->enter_work(at, id, work);
    const auto it = st.streams.find(id);
    if (it == st.streams.end()) return;
    Agent& s = *it->second;
    bool exact = false;
    Point p = point_of(s, work, &exact);
    if (!p.count) return;
    s.running = exact ? p.count : 0;
    p.count -= exact;
    At inside = at;
    inside.inside = id;
    Agent& function = st.thread(inside);
    st.absorb(function, p);
    if (!exact) return;
    function.version += function.begun.raise(s.slot, s.running);
    if (std::find(st.with_inside.begin(), st.with_inside.end(), &s) == st.with_inside.end())
        st.with_inside.push_back(&s);
}

// What follows on the stream, and each thread that finds that work complete, is after all that its function has received.
void Engine::leave_work(uint64_t id) {
    State& st = *state_;
    if (st.strict) st.strict->leave_work(id);
    const auto it = st.streams.find(id);
    if (it == st.streams.end() || !it->second->running) return;
    Agent& s = *it->second;
    At inside;
    inside.inside = id;
    const Point function = st.thread(inside).point();
    s.inside.emplace_back(std::exchange(s.running, 0), function);
    if (s.inside.size() > kept_inside) s.inside.pop_front();
    st.absorb(s, function);
}

// Functions of a stream run in their order, so the newest that is complete has acquired most. What will be complete may
// still run: then it has acquired this so far.
void Engine::State::add_inside(Point& p) {
    for (bool more = true; more;) {
        more = false;
        for (const Agent* s : with_inside) {
            const uint64_t complete = p.slot == s->slot ? p.count : p.known[s->slot];
            Point function;
            if (s->running && s->running <= complete) {
                function = thread(s->id | function_bit).point();
            } else {
                const auto last = std::find_if(s->inside.rbegin(), s->inside.rend(),
                                               [&](const auto& one) { return one.first <= complete; });
                if (last == s->inside.rend()) continue;
                function = last->second;
            }
            if (p.after(function.slot, function.count) && p.known.covers(function.known, p.slot) &&
                p.begun.covers(function.begun, ~0u))
                continue;
            join(p, function);
            more = true;
        }
    }
}

void Engine::State::observed(Agent& t, Point p) {
    if (!with_inside.empty()) add_inside(p);
    absorb(t, p);
    received(t, p);
}

// What is submitted to the stream of a function from now on comes after the work, and so after what it has received.
void Engine::State::received(Agent& function, const Point& p) {
    if (!(function.id & function_bit)) return;
    Agent& s = stream(function.id & ~function_bit);
    if (s.running) absorb(s, p);
    refute(s, p);
}

// The function of the work that runs on `s` has received a signal. Conflicts were judged when the works were submitted:
// what precedes the signal and what follows that work are in order, and the work itself may have accessed its memory
// before or after the signal.
void Engine::State::refute(const Agent& s, const Point& received) {
    if (!s.running) return;
    enum class Place : uint8_t { elsewhere, in, behind };
    const auto place = [&](uint32_t slot, uint64_t count) {
        if (slot == s.slot)
            return count < s.running ? Place::elsewhere : count == s.running ? Place::in : Place::behind;
        const Agent& other = *by_slot[slot];
        return !other.thread && point_at(other, count).known[s.slot] >= s.running ? Place::behind : Place::elsewhere;
    };
    // How it orders one side before the other.
    const auto order = [&](uint32_t slot, uint64_t count, uint32_t other_slot, uint64_t other_count) {
        const bool complete = received.after(slot, count);
        if (!complete && received.begun[slot] < count) return Place::elsewhere;
        const Place other = place(other_slot, other_count);
        return other == Place::behind && !complete ? Place::in : other;
    };
    std::erase_if(conflicts, [&](const Conflict& c) {
        if (c.doubt != Doubt::none) return false;
        const Place where = std::max(order(c.first_slot, c.first_count, c.second_slot, c.second_count),
                                     order(c.second_slot, c.second_count, c.first_slot, c.first_count));
        if (where == Place::elsewhere) return false;
        Finding& f = findings[c.finding];
        --f.sure;
        if (where == Place::behind)
            --f.count;
        else
            f.doubt = Doubt::inside;
        f.certain = f.sure > 0;
        return true;
    });
}

// Whether two accesses that nothing orders may be in order all the same.
Doubt Engine::State::doubt(const Entry& first, const Entry& second, const Agent& a) const {
    if (a.begun[first.slot] >= first.count) return Doubt::inside;
    if (!options.unseen_hand_over) return Doubt::none;
    const auto acts = [&](const Agent& t) { return a.thread ? &t == &a : t.id == second.thread; };
    for (const auto& [id, t] : threads)
        if (!(id & function_bit) && !acts(*t) && (t->slot == first.slot || t->known[first.slot] >= first.count))
            return Doubt::unseen;
    // The function of a work without accesses has another purpose, which may be to signal.
    for (const auto& [_, s] : streams)
        if (s->quiet.count > (s->slot == first.slot ? first.count : 0) &&
            (s->slot == first.slot || s->quiet.known[first.slot] >= first.count))
            return Doubt::unseen;
    return Doubt::none;
}

}  // namespace eventide::sanitizer
