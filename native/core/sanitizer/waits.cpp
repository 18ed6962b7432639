// Waits of streams and synchronizations of host threads, and which of them order nothing.
//
// A wait is redundant if removing it changes no ordering. That is decided at the next action of the stream: its clock
// must then follow from other sources, be it other waits, the thread that submits, or its clock before.
#include <algorithm>
#include <vector>

#include "sanitizer/engine_state.hpp"
#include "sanitizer/leave_one_out.hpp"

namespace eventide::sanitizer {
namespace {

// Whether the clock, joined with the host's point if given, includes p.
bool covered(const Point& p, const Clock& known, const Point* host, uint32_t own) {
    if (!host) return (p.slot == own || known[p.slot] >= p.count) && known.covers(p.known, own);
    if (p.slot != own && known[p.slot] < p.count && !host->after(p.slot, p.count)) return false;
    if (known.covers(p.known, own) && (p.slot == own || known[p.slot] >= p.count)) return true;
    Clock both = known;
    both.join(host->known, own);
    both.raise(host->slot, host->count);
    return covered(p, both, nullptr, own);
}

// Which of the waits are implied: the agent acquires as much from `base`, the other waits and the point that host_of
// gives for the wait (or null). The last first: of two equal ones the second is implied. drop: it implies no other then.
template <class HostOf>
std::vector<char> implied(const std::vector<Pending>& waits, const Clock& base, uint32_t own, bool drop,
                          const HostOf& host_of) {
    std::vector<char> out(waits.size(), false);
    const auto add = [&](Clock& sum, size_t i) {
        if (drop && out[i]) return;
        join(sum, waits[i].gained);
        join(sum, waits[i].host);
    };
    leave_one_out(0, waits.size(), base, add, [&](size_t i, const Clock& others) {
        const Point* host = host_of(waits[i]);
        out[i] = covered(waits[i].gained, others, host, own) && covered(waits[i].host, others, host, own);
    });
    return out;
}

}  // namespace

// The agent acts, submitted by a thread at that point, which decides its pending waits: each is needed or redundant. If
// the agent does not acquire the thread's past with it (final = false), those that are implied are decided later.
void Engine::State::observe(Agent& a, const Point* host, bool final) {
    std::vector<Pending>& waits = a.gap.waits;
    if (waits.empty()) return;
    const std::vector<char> is_implied =
        implied(waits, a.gap.base, a.slot, final, [&](const Pending&) { return host; });
    std::vector<Pending> later;
    for (size_t i = 0; i < waits.size(); ++i) {
        if (is_implied[i] && final) {
            redundant(waits[i].site);
        } else if (is_implied[i]) {
            later.push_back(std::move(waits[i]));
        } else if (!final) {
            sites[waits[i].site].needed = true;
            join(a.gap.base, waits[i].gained);
            join(a.gap.base, waits[i].host);
        }
    }
    waits = std::move(later);
    if (waits.empty()) a.gap.base = {};
}

uint32_t Engine::State::site(const At& at, Kind kind, const Agent& a, uint64_t other) {
    const bool wait = kind == Kind::redundant_wait;
    uint64_t key = at.stack ? uint64_t(at.stack) << 2 : (a.id * 0x9E3779B97F4A7C15u ^ other) << 2 | 2;
    const auto [it, fresh] = site_of.try_emplace(key | wait, uint32_t(sites.size()));
    if (fresh) {
        Site& s = sites.emplace_back();
        s.finding.kind = kind;
        s.finding.second = party(entry(at, a, false), wait ? Party::Is::wait : Party::Is::synchronize, 0, 0);
        s.finding.fix.what = Fix::Do::remove;
    }
    ++sites[it->second].runs;
    return it->second;
}

void Engine::State::wait_for(Agent& a, const Point& gained, const Point& host, uint32_t where) {
    if (a.gap.waits.empty()) a.gap.base = a.known;
    const bool news = acquire(a, gained) | acquire(a, host);
    if (news)
        a.gap.waits.push_back({gained, host, where});
    else
        redundant(where);
    if (a.gap.waits.empty()) a.gap.base = {};
}

// With a wait a stream acquires the point that it waits for, the past of the thread that called it and, with a default
// stream that blocks, the order with that stream.
void Engine::State::wait_on(const At& at, Agent& s, Agent& t, Point point, uint32_t where) {
    if (!at.past) observe(t, nullptr);
    const Point host = past(at, t);
    if (!with_inside.empty()) add_inside(point);
    if (s.behind || !s.members.empty()) {
        Point also = host;  // what the stream acquires without the pending waits of the streams it is ordered with
        join(also.known, point);
        Point all = meeting(s, also, false);
        join(all, point);
        point = std::move(all);
    }
    wait_for(s, point, host, where);
    if (options.numbered) add_action(at, s, Action::Is::passed).wait.push_back({point, host, where});
}

void Engine::State::sync_for(Agent& t, std::span<const Point> points, uint32_t where) {
    Point all{{}, t.slot, 0};
    for (const Point& p : points) join(all, p);
    if (!with_inside.empty()) add_inside(all);
    wait_for(t, all, {{}, t.slot, 0}, where);
    received(t, all);
}

void Engine::wait(const At& at, uint64_t event, uint64_t version, uint64_t id) {
    State& st = *state_;
    if (st.strict) st.strict->wait(at, event, version, id);
    Agent& t = st.thread(at);
    Agent& s = st.stream(id);
    const auto found = st.events.find(event);
    if (version == newest) version = found == st.events.end() ? 0 : found->second.last;
    if (!version) {
        Finding f{.kind = Kind::wait_on_unrecorded, .event = event, .fix = {.what = Fix::Do::record_before}};
        f.fix.event = event;
        f.second = st.party(st.entry(at, s, false), Party::Is::wait, 0, 0);
        return st.report(std::move(f));
    }
    if (found == st.events.end()) return;  // it was recorded before the sanitizer was started
    for (const auto& [v, point] : found->second.versions)
        if (v == version) {
            const uint32_t where = st.site(at, Kind::redundant_wait, s, point.slot);
            st.sites[where].finding.event = event;
            st.sites[where].finding.version = version;
            return st.wait_on(at, s, t, point, where);
        }
}

void Engine::synchronize_event(const At& at, uint64_t event, uint64_t version, bool asked) {
    State& st = *state_;
    if (st.strict) st.strict->synchronize_event(at, event, version, asked);
    Agent& t = st.thread(at);
    const auto found = st.events.find(event);
    if (version == newest) version = found == st.events.end() ? 0 : found->second.last;
    if (!version && asked) {
        Finding f{.kind = Kind::wait_on_unrecorded, .event = event, .fix = {.what = Fix::Do::record_before}};
        f.fix.event = event;
        f.second = st.party(st.entry(at, t, false), Party::Is::synchronize, 0, 0);
        return st.report(std::move(f));
    }
    if (found == st.events.end()) return;
    for (const auto& [v, point] : found->second.versions)
        if (v == version) {
            const Point p = point;
            if (asked) return st.sync_for(t, {&p, 1}, st.site(at, Kind::redundant_sync, t, p.slot));
            return st.observed(t, p);
        }
}

void Engine::mark_event(uint64_t token, uint64_t event, uint64_t version) {
    State& st = *state_;
    if (st.strict) st.strict->mark_event(token, event, version);
    const auto found = st.events.find(event);
    if (found == st.events.end()) return;
    if (version == newest) version = found->second.last;
    for (const auto& [v, point] : found->second.versions)
        if (v == version) st.marks[token] = {point};
}

void Engine::mark_stream(const At& at, uint64_t token, uint64_t id) {
    State& st = *state_;
    if (st.strict) st.strict->mark_stream(at, token, id);
    Agent& s = st.stream(id);
    const Point host = st.thread(at).point();
    st.observe(s, &host, false);
    st.marks[token] = {s.point()};
}

void Engine::mark_device(const At& at, uint64_t token, uint64_t device) {
    State& st = *state_;
    if (st.strict) st.strict->mark_device(at, token, device);
    std::vector<Point> points;
    std::vector<Agent*> streams;
    for (auto& [_, s] : st.streams) {
        if (s->device != device) continue;
        streams.push_back(s.get());
        points.push_back(s->point());
    }
    Clock host;
    join(host, st.thread(at).point());
    st.observe_all(streams, points, std::move(host));
    st.marks[token] = std::move(points);
}

// A thread with the clock `host` waits for streams to reach these points. A pending wait of one of them is needed,
// unless the thread acquires as much from the others.
void Engine::State::observe_all(std::span<Agent* const> streams, std::span<const Point> points, Clock host) {
    if (std::all_of(streams.begin(), streams.end(), [](const Agent* s) { return s->gap.waits.empty(); })) return;
    std::vector<Clock> behind(points.size());  // what is acquired from those after it
    for (size_t i = points.size(); i-- > 1;) {
        behind[i - 1] = behind[i];
        join(behind[i - 1], points[i]);
    }
    for (size_t i = 0; i < points.size(); ++i) {
        Point besides{host, no_slot, 0};
        join(besides.known, {behind[i], no_slot, 0});
        observe(*streams[i], &besides, false);
        join(host, points[i]);
    }
}

void Engine::mark_thread(uint64_t token, uint64_t thread) {
    State& st = *state_;
    if (st.strict) st.strict->mark_thread(token, thread);
    Agent& t = st.thread(thread);
    st.observe(t, nullptr);
    st.marks[token] = {t.point()};
}

void Engine::synchronize_marked(const At& at, uint64_t token, bool asked) {
    State& st = *state_;
    if (st.strict) st.strict->synchronize_marked(at, token, asked);
    const auto it = st.marks.find(token);
    if (it == st.marks.end()) return;
    Agent& t = st.thread(at);
    const std::vector<Point> points = std::move(it->second);
    st.marks.erase(it);
    if (asked)
        st.sync_for(t, points, st.site(at, Kind::redundant_sync, t, points.empty() ? 0 : points[0].slot));
    else
        for (const Point& p : points) st.observed(t, p);
}

namespace {
constexpr uint64_t own_token = ~uint64_t{0};  // between mark and synchronize_marked of one call
}

void Engine::synchronize_stream(const At& at, uint64_t stream, bool asked) {
    mark_stream(at, own_token, stream);
    synchronize_marked(at, own_token, asked);
}

void Engine::synchronize_device(const At& at, uint64_t device, bool asked) {
    mark_device(at, own_token, device);
    synchronize_marked(at, own_token, asked);
}

Point point_at(const Agent& s, uint64_t count) {
    Point p{{}, s.slot, 0};
    for (const auto& [from, point] : s.clocks)
        if (from <= count) p = point;
    p.count = !s.clocks.empty() && s.clocks.front().first <= count ? count : 0;
    return p;
}

Point point_of(const Agent& s, uint64_t work, bool* exact) {
    uint64_t found = 0;
    const size_t oldest = s.next_work;
    size_t low = 0, high = s.works.size();  // the newest that is not newer; ids grow along the ring
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const auto& [number, count] = s.works[(oldest + middle) % s.works.size()];
        if (number > work) {
            high = middle;
        } else {
            found = count;
            if (exact) *exact = number == work;
            low = middle + 1;
        }
    }
    Point p = point_at(s, found);
    p.count = found;
    return p;
}

void Engine::synchronize_work(const At& at, uint64_t id, uint64_t work, bool asked) {
    State& st = *state_;
    if (st.strict) st.strict->synchronize_work(at, id, work, asked);
    const auto it = st.streams.find(id);
    if (it == st.streams.end()) return;
    const Point p = point_of(*it->second, work);
    Agent& t = st.thread(at);
    if (asked)
        st.sync_for(t, {&p, 1}, st.site(at, Kind::redundant_sync, t, p.slot));
    else
        st.observed(t, p);
}

void Engine::work_access(const At& at, uint64_t id, std::span<const Range> reads, std::span<const Range> writes) {
    State& st = *state_;
    if (st.strict) st.strict->work_access(at, id, reads, writes);
    const auto it = st.streams.find(id);
    if (it == st.streams.end()) return;
    Agent& s = *it->second;
    Point p = point_of(s, at.work);
    if (!p.count || s.clocks.empty() || s.clocks.front().first > p.count) return;
    if (at.work > s.seen_work) {
        st.unseen_streams -= s.unknown_work > s.seen_work && s.unknown_work <= at.work;
        s.seen_work = at.work;
        ++st.coverage.known;
    }
    if (at.inside == id && s.running == p.count) {  // when it happens is known: after what the function has received
        join(p, st.thread(at).point());
        p.known.raise(p.slot, p.count);
    }
    const auto exchange = [&] {
        std::swap(s.known, p.known);
        std::swap(s.begun, p.begun);
        std::swap(s.count, p.count);
    };
    exchange();
    st.late = true;
    for (const Range& r : reads) st.touch(at, s, r, false);
    for (const Range& w : writes) st.touch(at, s, w, true);
    st.late = false;
    exchange();
}

void Engine::signal(const At& at, uint64_t token, uint64_t id) {
    State& st = *state_;
    if (st.strict) st.strict->signal(at, token, id);
    Agent& t = st.thread(at);
    Agent& s = st.enter(at, id, t);
    st.enter_host(at, s, t);
    ++s.count;  // the semaphore may be observed: it counts as work
    st.marks[token] = {s.point()};
    st.passed(at, s);
}

void Engine::wait_signal(const At& at, uint64_t token, uint64_t id) {
    State& st = *state_;
    if (st.strict) st.strict->wait_signal(at, token, id);
    const auto it = st.marks.find(token);
    if (it == st.marks.end()) return;
    Agent& s = st.stream(id);
    st.wait_on(at, s, st.thread(at), it->second.front(), st.site(at, Kind::redundant_wait, s, token));
}

void Engine::wait_known(const At& at, std::span<const Known> known, uint64_t id) {
    State& st = *state_;
    if (st.strict) st.strict->wait_known(at, known, id);
    Agent& s = st.stream(id);
    Point p{{}, s.slot, 0};
    for (const Known& k : known) p.known.raise((k.thread ? st.thread(k.id) : st.stream(k.id)).slot, k.count);
    st.wait_on(at, s, st.thread(at), p, st.site(at, Kind::redundant_wait, s, ~uint64_t{0}));
}

void Engine::finish(const At& at, bool leaks) {
    State& st = *state_;
    if (st.strict) st.strict->finish(at, leaks);
    if (std::exchange(st.finished, true)) return;
    st.play();
    for (auto* all : {&st.streams, &st.threads})
        for (auto& entry : *all) {
            auto& a = entry.second;
            // As if the thread that called the wait acquired it.
            const Agent* met = nullptr;
            for (size_t i = a->thread ? 0 : a->gap.waits.size(); i-- > 0;) {
                const Agent* t = st.by_slot[a->gap.waits[i].host.slot];
                if (t != met) st.meet_default(*a, t->point());
                met = t;
            }
            Point host;
            const auto caller = [&](const Pending& w) {
                const Agent* t = st.by_slot[w.host.slot];
                host = t->point();
                return t == a.get() ? nullptr : &host;
            };
            const std::vector<char> is_implied = implied(a->gap.waits, a->gap.base, a->slot, true, caller);
            size_t i = 0;
            std::erase_if(a->gap.waits, [&](const Pending& w) {
                if (is_implied[i]) st.redundant(w.site);
                return is_implied[i++];
            });
        }
    for (Site& s : st.sites)
        if (s.redundant && s.redundant == s.runs && !s.needed) {
            s.finding.count = s.redundant;
            st.findings.push_back(s.finding);
        }
    if (!leaks) return;
    for (uint32_t n = 1; n < st.shadow.lifetime_count(); ++n) {
        const Lifetime& l = st.shadow.lifetime(n);
        if (!l.segments || l.freed) continue;
        Finding f{.kind = Kind::leak, .buffer = l.address, .buffer_name = st.names[l.name]};
        f.second = st.party(l.allocated, Party::Is::allocation, l.address, l.address + l.bytes);
        f.fix.what = Fix::Do::give_back;
        st.report(std::move(f));
    }
    for (const auto& [id, e] : st.events) {
        if (!e.created) continue;
        Finding f{.kind = Kind::leak, .event = id};
        f.second = st.party(e.by, Party::Is::event, 0, 0);
        f.fix = {.what = Fix::Do::give_back, .event = id};
        st.report(std::move(f));
    }
}

// Collectives: every rank continues when all have arrived, so each acquires the clocks of all on arrival. It does not
// include the completion of another rank's part.
void Engine::collective(std::span<const Arrival> ranks) {
    State& st = *state_;
    if (st.strict) st.strict->collective(ranks);
    std::vector<Agent*> agents;
    Point everyone{{}, 0, 0};
    Clock base;  // the joined clock without the waits before it
    for (const Arrival& r : ranks) {
        Agent& t = st.thread(r.at);
        if (!r.at.past) st.observe(t, nullptr);
        join(base, st.past(r.at, t));
        agents.push_back(&st.stream(r.stream));
        join(everyone.known, agents.back()->point());
    }
    join(everyone.known, {base, 0, 0});
    for (Agent* s : agents) st.meet_default(*s, everyone);
    std::vector<Pending> waits;  // before it, on any rank
    for (Agent* s : agents) {
        join(base, {s->gap.waits.empty() ? s->known : s->gap.base, s->slot, s->count});
        waits.insert(waits.end(), s->gap.waits.begin(), s->gap.waits.end());
        join(everyone.known, s->point());
    }
    const auto no_host = [](const Pending&) -> const Point* { return nullptr; };
    const std::vector<char> is_implied = implied(waits, base, no_slot, true, no_host);
    for (size_t i = 0; i < waits.size(); ++i)
        if (is_implied[i]) st.redundant(waits[i].site);
    for (size_t n = 0; n < agents.size(); ++n) {
        Agent& s = *agents[n];
        s.gap = {};
        st.acquire(s, {everyone.known, s.slot, 0});
        ++s.count;
        st.passed(ranks[n].at, s);
    }
}

}  // namespace eventide::sanitizer
