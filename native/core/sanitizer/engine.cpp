// Agents, records and works: how clocks propagate.
#include "sanitizer/engine.hpp"

#include <algorithm>
#include <utility>

#include "sanitizer/engine_state.hpp"

namespace eventide::sanitizer {
namespace {

constexpr size_t kept_versions = 8;
constexpr size_t kept_works = 4096;
constexpr size_t kept_clocks = 64;

}  // namespace

Engine::Engine(Options options) : state_(new State(options)) {
    if (!options.predict) return;
    options.predict = false;
    state_->strict = std::make_unique<Engine>(options);
}
Engine::~Engine() = default;

Agent& Engine::State::make_agent(bool is_thread, uint64_t id) {
    std::unique_ptr<Agent> a;
    if (retired.empty()) {
        a = std::make_unique<Agent>();
        a->slot = uint32_t(by_slot.size());
        by_slot.push_back(a.get());
    } else {  // clock and count continue: a clock that includes the new agent includes all of the old one
        a = std::move(retired.back());
        retired.pop_back();
    }
    a->id = id;
    a->thread = is_thread;
    auto& place = (is_thread ? threads : streams)[id];
    place = std::move(a);
    return *place;
}

Agent& Engine::State::stream(uint64_t id) {
    if (last_stream && last_stream->id == id) return *last_stream;
    const auto it = streams.find(id);
    return *(last_stream = it != streams.end() ? it->second.get() : &make_agent(false, id));
}

Agent& Engine::State::thread(uint64_t id) {
    if (last_thread && last_thread->id == id) return *last_thread;
    const auto it = threads.find(id);
    return *(last_thread = it != threads.end() ? it->second.get() : &make_agent(true, id));
}

Agent& Engine::State::thread(const At& at) {
    return thread(at.inside == no_stream ? at.thread : at.inside | function_bit);
}

void Engine::State::retire(bool is_thread, uint64_t id) {
    if (options.numbered) return;  // recorded actions refer to their agents until they are replayed
    auto& all = is_thread ? threads : streams;
    const auto it = all.find(id);
    if (it == all.end()) return;
    Agent& a = *it->second;
    observe(a, nullptr);
    unseen_streams -= a.unknown_work > a.seen_work;
    for (auto& [member, _] : a.members) member->behind = nullptr;
    if (a.behind) std::erase_if(a.behind->members, [&](const auto& m) { return m.first == &a; });
    std::erase(with_inside, &a);
    auto fresh = std::make_unique<Agent>();
    fresh->slot = a.slot;
    fresh->count = a.count;
    fresh->known = a.known;
    fresh->begun = a.begun;
    by_slot[a.slot] = fresh.get();
    retired.push_back(std::move(fresh));
    all.erase(it);
    last_stream = last_thread = nullptr;
}

bool Engine::State::acquire(Agent& a, const Point& p) {
    bool news = a.known.join(p.known, a.slot);
    if (p.slot != a.slot) news |= a.known.raise(p.slot, p.count);
    a.version += a.begun.join(p.begun, ~0u) | news;
    return news;
}

void Engine::State::absorb(Agent& a, const Point& p) {
    acquire(a, p);
    if (a.gap.waits.empty()) return;
    a.gap.base.join(p.known, a.slot);
    if (p.slot != a.slot) a.gap.base.raise(p.slot, p.count);
}

Point Engine::State::past(const At& at, Agent& t) {
    if (!at.past) return t.point();
    const auto it = marks.find(at.past);
    return it == marks.end() || it->second.empty() ? Point{{}, t.slot, 0} : it->second.front();
}

// A default stream that blocks waits for its members, and they for it. Their pending waits are needed, unless the
// stream's clock follows from other sources.
Point Engine::State::meeting(Agent& s, const Point& host, bool remember) {
    Point all{{}, s.slot, 0};
    Point besides = s.point();
    join(besides.known, host);
    const auto meet = [&](Agent& other) {
        observe(other, &besides, false);
        join(all, other.point());
        join(besides.known, other.point());
    };
    if (s.behind) meet(*s.behind);
    for (const bool pending : {false, true})
        for (auto& [member, seen_version] : s.members) {
            if (member->gap.waits.empty() == pending) continue;
            if (s.gap.waits.empty() && member->version == seen_version && s.known[member->slot] >= member->count)
                continue;
            meet(*member);
            if (remember) seen_version = member->version;
        }
    return all;
}

void Engine::State::meet_default(Agent& s, const Point& host) {
    if (s.behind && s.gap.waits.empty() && s.behind->gap.waits.empty() && s.known.covers(s.behind->known, s.slot) &&
        s.known[s.behind->slot] >= s.behind->count && s.begun.covers(s.behind->begun, ~0u))
        return;
    if (s.behind || !s.members.empty()) absorb(s, meeting(s, host, true));
}

Agent& Engine::State::enter(const At& at, uint64_t id, Agent& t) {
    Agent& s = stream(id);
    if (!at.past) observe(t, nullptr);
    if (s.behind || !s.members.empty()) meet_default(s, past(at, t));
    return s;
}

void Engine::State::enter_host(const At& at, Agent& s, Agent& t) {
    if (at.past || !s.gap.waits.empty()) {
        const Point host = past(at, t);
        observe(s, &host);
        acquire(s, host);
        return;
    }
    if (s.host_slot == t.slot && s.host_version == t.version) {
        s.version += s.known.raise(t.slot, t.count);
        return;
    }
    acquire(s, t.point());
    s.host_slot = t.slot;
    s.host_version = t.version;
}

void Engine::create_stream(uint64_t id, uint64_t device, uint64_t behind) {
    State& st = *state_;
    if (st.strict) st.strict->create_stream(id, device, behind);
    Agent& s = st.stream(id);
    s.device = device;
    if (behind == no_stream || behind == id || s.behind) return;
    Agent& d = st.stream(behind);
    s.behind = &d;
    d.members.emplace_back(&s, ~uint64_t{0});
}

void Engine::delete_stream(const At& at, uint64_t id) {
    State& st = *state_;
    if (st.strict) st.strict->delete_stream(at, id);
    const auto it = st.streams.find(id);
    if (it == st.streams.end()) return;
    st.absorb(st.thread(at), it->second->point());
    st.retire(false, id);
    st.retire(true, id | function_bit);
}

void Engine::end_thread(uint64_t id) {
    if (state_->strict) state_->strict->end_thread(id);
    state_->retire(true, id);
}

void Engine::submit(const At& at, uint64_t id, std::span<const Range> reads, std::span<const Range> writes,
                    bool known) {
    State& st = *state_;
    if (st.strict) st.strict->submit(at, id, reads, writes, known);
    Agent& t = st.thread(at);
    Agent& s = st.enter(at, id, t);
    st.enter_host(at, s, t);
    ++s.count;
    ++st.coverage.works;
    st.coverage.known += known;
    if (known && reads.empty() && writes.empty()) s.quiet = s.point();
    if (s.clocks.empty() || !s.clocks.back().second.known.shares(s.known) ||
        !s.clocks.back().second.begun.shares(s.begun)) {
        s.clocks.emplace_back(s.count, s.point());
        if (s.clocks.size() > kept_clocks) s.clocks.pop_front();
    }
    if (s.works.size() < kept_works)
        s.works.emplace_back(at.work, s.count);
    else
        s.works[std::exchange(s.next_work, (s.next_work + 1) % kept_works)] = {at.work, s.count};
    st.newest_work = std::max(st.newest_work, at.work);
    if (!known) {
        st.unseen_streams += s.unknown_work <= s.seen_work;
        s.unknown_work = at.work;
    }
    st.accessed(at, s, reads, writes);
}

void Engine::host_access(const At& at, std::span<const Range> reads, std::span<const Range> writes) {
    State& st = *state_;
    if (st.strict) st.strict->host_access(at, reads, writes);
    Agent& t = st.thread(at);
    st.observe(t, nullptr);
    ++t.count;
    st.accessed(at, t, reads, writes);
}

void Engine::create_event(const At& at, uint64_t event) {
    State& st = *state_;
    if (st.strict) st.strict->create_event(at, event);
    EventState& e = st.events[event];
    if (e.created) e = {};  // another one: the deletion was not observed
    e.created = true;
    e.by = st.entry(at, st.thread(at), false);
}

void Engine::delete_event(uint64_t event) {
    if (state_->strict) state_->strict->delete_event(event);
    state_->events.erase(event);
}

void Engine::record(const At& at, uint64_t event, uint64_t version, uint64_t id) {
    State& st = *state_;
    if (st.strict) st.strict->record(at, event, version, id);
    Agent& t = st.thread(at);
    Agent& s = st.enter(at, id, t);
    st.enter_host(at, s, t);
    EventState& e = st.events[event];
    if (version == newest) version = e.last + 1;
    e.last = std::max(e.last, version);
    if (e.versions.size() == kept_versions) e.versions.erase(e.versions.begin());
    e.versions.emplace_back(version, s.point());
    s.recorded_event = event;
    s.recorded_version = version;
    s.recorded_count = s.count;
    st.passed(at, s);
}

void Engine::host_signal(const At& at, uint64_t token) {
    State& st = *state_;
    if (st.strict) st.strict->host_signal(at, token);
    if (st.options.predict) return;
    Agent& t = st.thread(at);
    st.observe(t, nullptr);
    const auto [it, fresh] = st.tokens.try_emplace(token, t.point());
    if (fresh) return;
    Point& p = it->second;  // earlier hand-overs are still included
    join(p.known, p);
    p.slot = no_slot;  // several agents
    p.count = 0;
    join(p, t.point());
}

void Engine::host_wait(const At& at, uint64_t token) {
    State& st = *state_;
    if (st.strict) st.strict->host_wait(at, token);
    if (st.options.predict) return;
    const auto it = st.tokens.find(token);
    if (it != st.tokens.end()) st.observed(st.thread(at), it->second);
}

void Engine::forget_token(uint64_t token) {
    if (state_->strict) state_->strict->forget_token(token);
    state_->tokens.erase(token);
    state_->marks.erase(token);
}

const std::vector<Finding>& Engine::findings() const {
    return state_->findings;
}

Coverage Engine::coverage() const {
    Coverage c = state_->coverage;
    c.forgotten = state_->shadow.forgotten();
    c.streams = state_->streams.size();
    c.threads = state_->threads.size();
    c.ranges = state_->shadow.ranges();
    return c;
}

}  // namespace eventide::sanitizer
