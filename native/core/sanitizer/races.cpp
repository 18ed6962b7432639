// Races, and use after free: accesses against the shadow, and lifetimes of memory.
#include <algorithm>
#include <utility>

#include "sanitizer/engine_state.hpp"

namespace eventide::sanitizer {
namespace {

constexpr size_t max_entries = 1024;  // of one range: after races by many, or with many strides
constexpr size_t max_kept = 16;       // of one range, for work that may still be observed
constexpr size_t max_cancelled = 4096;

// Whether an access replaces an older one that it is ordered after.
bool replaces(const Entry& now, const Entry& before) noexcept {
    return !before.old && (now.dense() || (now.same_shape(before) && !now.possible));
}

// Same agent, same bytes, same owner: the later replaces the earlier.
Entry* same(Entries& all, const Entry& e) noexcept {
    for (Entry& x : all)
        if (x.slot == e.slot && x.count <= e.count && !x.old && x.same_shape(e)) return &x;
    return nullptr;
}

// Entry::replaced, of an entry that replaces another.
uint32_t replaced_by(const Entry& now, const Entry& before) noexcept {
    const uint64_t distance = now.count - before.count;
    if (before.slot != now.slot || distance > UINT32_MAX) return 0;
    return distance ? uint32_t(distance) : before.replaced;
}

// What record_stream holds: the streams' points at the free.
bool held(const std::vector<Point>& users, const Entry& e) noexcept {
    return std::any_of(users.begin(), users.end(), [&](const Point& u) { return u.after(e.slot, e.count); });
}

}  // namespace

Entry Engine::State::entry(const At& at, const Agent& a, bool write) {
    return {.count = a.count,
            .work = at.work,
            .thread = at.thread,
            .stream = a.thread ? no_stream : a.id,
            .slot = a.slot,
            .stack = at.stack,
            .name = intern(at.name),
            .write = write};
}

void Engine::State::touch(const At& at, const Agent& a, const Range& range, bool write) {
    if (!range.bytes) return;
    Entry e = entry(at, a, write);
    e.possible = range.possible;
    if (range.stride > range.run && range.run && range.bytes > range.run) {
        if (range.stride <= UINT32_MAX) {
            e.stride = uint32_t(range.stride);
            e.run = uint32_t(range.run);
            e.phase = uint32_t(range.address % range.stride);
        } else {
            e.possible = true;
        }
    }
    const uint64_t end = range.address + range.bytes;
    size_t parts = 0;
    shadow.visit(range.address, end, [&](Segment& s) {
        ++parts;
        touch(s, e, a);
    });
    if (write && parts > 1 && e.dense()) shadow.merge(range.address, end);
}

void Engine::State::used_freed(const Segment& s, const Entry& e, const Agent& a) {
    const Lifetime& l = shadow.lifetime(s.lifetime);
    Finding f{.kind = Kind::use_after_free, .buffer = l.address, .buffer_name = names[l.name]};
    f.first = party(l.freed_by, Party::Is::free, s.start, s.end);
    f.second = party(e, a.thread ? Party::Is::host : Party::Is::work, s.start, s.end);
    f.fix.what = Fix::Do::free_later;
    if (late && e.work <= l.submitted) {  // it was queued before the free, and is observed only now
        if (held(l.held, e)) return meet(s, e, a);
        f.kind = Kind::missing_record_stream;
        f.fix = {.what = Fix::Do::record_stream, .stream = e.stream};
        std::swap(f.first, f.second);
    }
    report(std::move(f));
}

// A thread's earlier action cannot be ordered after work that still runs. A stream may have a wait for it; if its clock
// of that time is no longer kept, nothing is reported.
bool Engine::State::follows(const Entry& e, const Agent& a) const {
    if (options.numbered) return actions[action_at.at(e.work)].point.after(a.slot, a.count);
    if (!late) return false;
    if (e.slot == a.slot) return e.count > a.count;
    const Agent& other = *by_slot[e.slot];
    if (other.thread) return false;
    const Point then = point_at(other, e.count);
    return !then.count || then.known[a.slot] >= a.count;
}

// Which unordered accesses to these bytes are there? An earlier owner that certainly comes later is a conflict too.
void Engine::State::meet(const Segment& s, const Entry& e, const Agent& a) {
    const auto apart = [&](const Entry& x) { return ordered(a, x) || (follows(x, a) && !(x.old && options.numbered)); };
    for (const Entry& w : s.writes)
        if (!apart(w)) conflict(s, w, e, a);
    if (!e.write) return;
    for (const Entry& r : s.reads)
        if (!apart(r)) conflict(s, r, e, a);
}

void Engine::State::touch(Segment& s, const Entry& e, const Agent& a) {
    if (s.lifetime && shadow.lifetime(s.lifetime).freed) return used_freed(s, e, a);
    drop_cancelled(s);
    meet(s, e, a);
    // The next access may come before this one, and then this one must not replace those that it comes after.
    const bool early = unseen_streams && !late && !a.thread && s.writes.size() + s.reads.size() < max_kept;
    const bool keep = options.numbered || early;
    if (!e.write) {
        Entry* mine = keep ? nullptr : same(s.reads, e);
        if (!mine) return add(s.reads, e);
        const uint32_t distance = replaced_by(e, *mine);
        *mine = e;
        mine->replaced = distance;
        return;
    }
    uint32_t nearest = 0;
    if (!keep) {
        const auto over = [&](const Entry& x) {
            if (!replaces(e, x) || !ordered(a, x) || follows(x, a)) return false;
            if (const uint32_t distance = replaced_by(e, x)) nearest = nearest ? std::min(nearest, distance) : distance;
            return true;
        };
        s.writes.erase_if(over);
        s.reads.erase_if(over);
    }
    add(s.writes, e);
    if (nearest) (s.writes.end() - 1)->replaced = nearest;
}

void Engine::State::add(Entries& all, const Entry& e) const {
    if (all.size() >= max_entries && !options.numbered) all.erase_first();
    all.push_back(e);
}

void Engine::State::accessed(const At& at, Agent& a, std::span<const Range> reads, std::span<const Range> writes) {
    if (options.numbered) {
        Action& t = add_action(at, a, Action::Is::accessed);
        t.reads.assign(reads.begin(), reads.end());
        t.writes.assign(writes.begin(), writes.end());
        return;
    }
    for (const Range& r : reads) touch(at, a, r, false);
    for (const Range& w : writes) touch(at, a, w, true);
}

void Engine::cancel_work(uint64_t stream, uint64_t work) {
    State& st = *state_;
    if (st.strict) st.strict->cancel_work(stream, work);
    const auto it = st.streams.find(stream);
    if (it == st.streams.end()) return;
    bool exact = false;
    const Point p = point_of(*it->second, work, &exact);
    if (exact) st.retract(p);
    st.cancelled.insert(work);
    if (st.cancelled.size() < max_cancelled) return;
    st.shadow.each([&](Segment& s) { st.drop_cancelled(s); });
    st.cancelled.clear();
}

// What an entry has replaced takes its place; its name and its place in the code are no longer known.
void Engine::State::drop_cancelled(Segment& s) {
    if (cancelled.empty()) return;
    const auto is = [&](Entry& e) {
        if (e.stream == no_stream || !cancelled.contains(e.work)) return false;
        if (!e.replaced) return true;
        e.count -= std::exchange(e.replaced, 0);
        e.work = 0;
        return false;
    };
    s.writes.erase_if(is);
    s.reads.erase_if(is);
}

void Engine::State::conflict(const Segment& s, const Entry& before, const Entry& now, const Agent& a) {
    const Overlap sure = overlap(before, now, s.start, s.end);
    if (sure == Overlap::no) return;
    const Lifetime& l = shadow.lifetime(s.lifetime);
    Finding f{.kind = before.old && !l.freed ? Kind::use_after_free : Kind::race,
              .certain = sure == Overlap::certain,
              .buffer = s.lifetime ? l.address : s.start,
              .buffer_name = names[l.name]};
    f.doubt = f.certain ? doubt(before, now, a) : Doubt::bytes;
    f.certain = f.doubt == Doubt::none;
    f.first = party(before, before.stream == no_stream ? Party::Is::host : Party::Is::work, s.start, s.end);
    f.second = party(now, a.thread ? Party::Is::host : Party::Is::work, s.start, s.end);
    if (before.unguarded || (before.stream != no_stream && before.old && follows(before, a))) {
        f.fix = {.what = Fix::Do::record_stream, .stream = before.stream};
    } else {
        f.fix = ordering_fix(before, now);
    }
    const uint64_t replaced = before.replaced ? before.count - before.replaced : 0;
    report(std::move(f), &before, &now, a.known[before.slot] < replaced && a.slot != before.slot);
}

void Engine::allocate(const At& at, uint64_t address, uint64_t bytes, uint64_t stream) {
    State& st = *state_;
    if (st.strict) st.strict->allocate(at, address, bytes, stream);
    Agent& t = st.thread(at);
    if (!st.options.numbered) return st.allocated(at, t, address, bytes, stream);
    Action& action = st.add_action(at, t, Action::Is::allocated);
    action.address = address;
    action.bytes = bytes;
    action.stream = stream;
}

void Engine::State::allocated(const At& at, const Agent& t, uint64_t address, uint64_t bytes, uint64_t stream) {
    Entry by = entry(at, t, false);
    by.stream = stream;
    shadow.allocate(address, std::max<uint64_t>(bytes, 1), by.name, by);
}

void Engine::record_stream(const At& at, uint64_t address, uint64_t stream) {
    State& st = *state_;
    if (st.strict) st.strict->record_stream(at, address, stream);
    if (!st.options.numbered) return st.used(address, stream);
    Action& action = st.add_action(at, st.thread(at), Action::Is::used);
    action.address = address;
    action.stream = stream;
}

void Engine::State::used(uint64_t address, uint64_t stream) {
    const uint32_t n = shadow.at(address);
    if (!n || shadow.lifetime(n).freed) return;
    std::vector<uint64_t>& users = shadow.lifetime(n).users;
    if (std::find(users.begin(), users.end(), stream) == users.end()) users.push_back(stream);
}

// The memory is freed: which accesses are still pending?
void Engine::State::release(Segment& s, const Entry& by, const Point& at, const std::vector<Point>& users) {
    drop_cancelled(s);
    const bool fresh = !options.numbered && std::any_of(s.writes.begin(), s.writes.end(),
                                                        [](const Entry& w) { return !w.old && w.dense(); });
    for (Entries* all : {&s.writes, &s.reads}) {
        all->erase_if([&](const Entry& e) { return held(users, e) || (fresh && e.old); });
        for (Entry& e : *all) {
            if (!std::exchange(e.old, true) && !at.after(e.slot, e.count)) {
                e.unguarded = e.stream != no_stream;
                const Lifetime& l = shadow.lifetime(s.lifetime);
                Finding f{.kind = e.unguarded ? Kind::missing_record_stream : Kind::use_after_free,
                          .certain = !e.possible && at.begun[e.slot] < e.count,
                          .buffer = l.address,
                          .buffer_name = names[l.name]};
                if (!f.certain) f.doubt = e.possible ? Doubt::bytes : Doubt::inside;
                f.first = party(e, e.unguarded ? Party::Is::work : Party::Is::host, s.start, s.end);
                f.second = party(by, Party::Is::free, s.start, s.end);
                if (e.unguarded)
                    f.fix = {.what = Fix::Do::record_stream, .stream = e.stream};
                else
                    f.fix = ordering_fix(e, by);
                report(std::move(f));
            }
        }
    }
}

void Engine::free(const At& at, uint64_t address, uint64_t stream, bool idle) {
    State& st = *state_;
    if (st.strict) st.strict->free(at, address, stream, idle);
    if (!st.options.numbered && !st.shadow.at(address)) return;  // it was allocated before the sanitizer was started
    Agent& t = st.thread(at);
    Agent* a = &t;
    if (stream == no_stream) {
        if (!at.past) st.observe(t, nullptr);
    } else {
        a = &st.enter(at, stream, t);
        st.enter_host(at, *a, t);
    }
    if (!st.options.numbered) return st.freed(at, *a, address, idle);
    Action& action = st.add_action(at, *a, Action::Is::freed);
    action.address = address;
    action.idle = idle;
}

void Engine::State::freed(const At& at, const Agent& a, uint64_t address, bool idle) {
    const uint32_t n = shadow.at(address);
    if (!n) return;
    const Entry by = entry(at, a, true);
    Lifetime& l = shadow.lifetime(n);
    if (l.freed) {
        Finding f{.kind = Kind::use_after_free, .buffer = l.address, .buffer_name = names[l.name]};
        f.first = party(l.freed_by, Party::Is::free, l.address, l.address + l.bytes);
        f.second = party(by, Party::Is::free, l.address, l.address + l.bytes);
        f.fix.what = Fix::Do::remove;
        return report(std::move(f));
    }
    const Point point = a.point();
    std::vector<Agent*> users;
    for (const uint64_t user : l.users) {
        users.push_back(&stream(user));
        l.held.push_back(users.back()->point());
    }
    if (!users.empty()) {  // a wait that keeps the memory longer is needed
        Clock before;
        join(before, point);
        observe_all(users, l.held, std::move(before));
    }
    l.submitted = newest_work;
    shadow.visit(l.address, l.address + l.bytes, [&](Segment& s) {
        if (s.lifetime != n) return;
        if (idle) {
            s.writes.clear();
            s.reads.clear();
        }
        release(s, by, point, l.held);
    });
    shadow.freed(n, by);
}

}  // namespace eventide::sanitizer
