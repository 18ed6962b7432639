// Programs whose queues can be blocked. First the actions are added in an order in which all can run, and the point of
// each is kept; then memory is checked in the order of submission, each access and each free at its point. That order
// determines the owner of an address and the streams of record_stream; the points determine what is complete by then.
#include <algorithm>

#include "sanitizer/engine_state.hpp"

namespace eventide::sanitizer {

Action& Engine::State::add_action(const At& at, Agent& a, Action::Is is) {
    action_at[at.work] = actions.size();
    return actions.emplace_back(
        Action{.is = is, .at = at, .name = std::string(at.name), .agent = &a, .point = a.point()});
}

std::vector<Engine::Known> Engine::over_at(uint64_t work) const {
    std::vector<Known> out;
    const auto it = state_->action_at.find(work);
    if (it == state_->action_at.end()) return out;
    const Point& p = state_->actions[it->second].point;
    for (const Agent* a : state_->by_slot)
        if (const uint64_t n = a->slot == p.slot ? p.count : p.known[a->slot]) out.push_back({a->thread, a->id, n});
    return out;
}

void Engine::synchronize_numbered(const At& at, std::span<const uint64_t> works) {
    State& st = *state_;
    if (st.strict) st.strict->synchronize_numbered(at, works);
    Agent& t = st.thread(at);
    Clock host;
    join(host, t.point());
    std::vector<Point> points;
    std::vector<Agent*> streams;
    for (const uint64_t work : works) {
        const auto it = st.action_at.find(work);
        if (it == st.action_at.end()) continue;
        points.push_back(st.actions[it->second].point);
        streams.push_back(st.actions[it->second].agent);
    }
    st.observe_all(streams, points, std::move(host));
    st.sync_for(t, points, st.site(at, Kind::redundant_sync, t, ~uint64_t{0}));
}

void Engine::State::play() {
    if (actions.empty()) return;
    struct Kept {
        Clock known, begun;
        uint64_t count = 0;
        Gap gap;
    };
    std::vector<Kept> now(by_slot.size());
    const auto exchange = [&] {
        for (size_t slot = 0; slot < now.size(); ++slot) {  // record_stream may name a stream that does nothing
            std::swap(by_slot[slot]->known, now[slot].known);
            std::swap(by_slot[slot]->begun, now[slot].begun);
            std::swap(by_slot[slot]->count, now[slot].count);
            std::swap(by_slot[slot]->gap, now[slot].gap);
        }
    };
    exchange();  // from here on as if no agent had acted
    std::vector<const Action*> in_order;
    for (const Action& t : actions) in_order.push_back(&t);
    std::stable_sort(in_order.begin(), in_order.end(),
                     [](const Action* a, const Action* b) { return a->at.work < b->at.work; });
    for (const Action* t : in_order) {
        Agent& a = *t->agent;
        if (t->wait.empty()) {
            a.gap = {};
        } else {
            if (a.gap.waits.empty()) a.gap.base = a.known;
            a.gap.waits.push_back(t->wait.front());
        }
        a.known = t->point.known;
        a.begun = t->point.begun;
        a.count = t->point.count;
        At at = t->at;
        at.name = t->name;
        for (const Range& r : t->reads) touch(at, a, r, false);
        for (const Range& w : t->writes) touch(at, a, w, true);
        if (t->is == Action::Is::allocated) allocated(at, a, t->address, t->bytes, t->stream);
        if (t->is == Action::Is::used) used(t->address, t->stream);
        if (t->is == Action::Is::freed) freed(at, a, t->address, t->idle);
    }
    exchange();
}

}  // namespace eventide::sanitizer
