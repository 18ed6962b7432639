// Collectives: every rank goes on when all have come, so each knows what any of them knew on arrival. Whether another
// rank's part is over it does not know.
#include <iterator>
#include <vector>

#include "sanitizer/sanitizer_state.hpp"

namespace eventide::sanitizer {
namespace {

bool knows(const Clock& known, const Point& p) {
    return known[p.slot] >= p.count && known.covers(p.known, ~0u);
}

// Of the waits before it, on any rank, those that say what the others and `base` say already. The last first: of two
// that say the same, the second is too much.
template <class Redundant>
void drop_implied(const Clock& base, std::vector<const Pending*> waits, Redundant redundant) {
    for (size_t i = waits.size(); i-- > 0;) {
        Clock others = base;
        for (size_t j = 0; j < waits.size(); ++j)
            if (j != i) {
                join(others, waits[j]->learnt);
                join(others, waits[j]->host);
            }
        if (!knows(others, waits[i]->learnt) || !knows(others, waits[i]->host)) continue;
        redundant(waits[i]->site);
        waits.erase(std::next(waits.begin(), std::ptrdiff_t(i)));
    }
}

}  // namespace

void Engine::collective(std::span<const Arrival> ranks) {
    State& st = *state_;
    if (st.strict) st.strict->collective(ranks);
    std::vector<Agent*> agents;
    Point everyone{{}, 0, 0};
    Clock base;  // what all know without the waits before it
    for (const Arrival& r : ranks) {
        Agent& t = st.thread(r.at.thread);
        if (!r.at.past) st.observe(t, nullptr);
        join(base, st.past(r.at, t));
        agents.push_back(&st.stream(r.stream));
        join(everyone.known, agents.back()->point());
    }
    join(everyone.known, {base, 0, 0});
    for (Agent* s : agents) st.meet_default(*s, everyone);
    std::vector<const Pending*> waits;
    for (Agent* s : agents) {
        join(base, {s->gap.waits.empty() ? s->known : s->gap.base, s->slot, s->count});
        for (const Pending& w : s->gap.waits) waits.push_back(&w);
        join(everyone.known, s->point());
    }
    drop_implied(base, std::move(waits), [&](uint32_t site) { st.redundant(site); });
    for (size_t n = 0; n < agents.size(); ++n) {
        Agent& s = *agents[n];
        s.gap = {};
        st.learn(s, {everyone.known, s.slot, 0});
        ++s.count;
        st.passed(ranks[n].at, s);
    }
}

}  // namespace eventide::sanitizer
