// Findings: both sides, the fix, and once per place in the code.
#include <algorithm>
#include <functional>
#include <utility>

#include "sanitizer/engine_state.hpp"

namespace eventide::sanitizer {
namespace {

constexpr size_t max_pieces = 64;
constexpr size_t kept_conflicts = 512;
constexpr size_t max_findings = 10000;  // different ones; more are only counted with the last

constexpr std::string_view kinds[] = {
    "race",     "use-after-free", "missing-record-stream", "wait-on-unrecorded", "redundant-wait", "redundant-sync",
    "deadlock", "leak",
};

// A place in the code, or a substitute where stacks are not captured.
uint64_t place(const Party& p) {
    const uint64_t text = std::hash<std::string>{}(p.name);
    const uint64_t where = p.stack ? p.stack : (p.stream + 1) * 0x9E3779B97F4A7C15u ^ p.thread << 1 ^ 1;
    return (text ^ where * 0xD6E8FEB86659FD93u) * 2 + (p.is == Party::Is::free);
}

Piece piece_of(const Finding& f) {
    const Party& side = f.second.bytes ? f.second : f.first;
    return {side.address, side.bytes, f.buffer, f.buffer_name, f.first.write, f.second.write};
}

// The same two conflict in further bytes, or in the same ones with another kind of access.
void extend(Finding& known, const Finding& more) {
    const Piece p = piece_of(more);
    known.first.write |= more.first.write;
    known.second.write |= more.second.write;
    if (!p.bytes) return;
    for (Piece& k : known.pieces)
        if (k.address == p.address && k.bytes == p.bytes) {
            k.first_writes |= p.first_writes;
            k.second_writes |= p.second_writes;
            return;
        }
    known.first.bytes += p.bytes;
    known.second.bytes += p.bytes;
    Piece& last = known.pieces.back();
    const bool adjacent = last.address + last.bytes == p.address && last.buffer == p.buffer;
    if (adjacent && last.first_writes == p.first_writes && last.second_writes == p.second_writes)
        last.bytes += p.bytes;
    else if (known.pieces.size() < max_pieces)
        known.pieces.push_back(p);
}

}  // namespace

std::string_view name(Kind kind) noexcept {
    return kinds[unsigned(kind)];
}

uint32_t Engine::State::intern(std::string_view text) {
    if (text.empty()) return 0;
    if (names[last_name] == text) return last_name;
    const auto [it, fresh] = name_ids.try_emplace(std::string(text), uint32_t(names.size()));
    if (fresh) names.emplace_back(text);
    last_name = it->second;
    if (names.size() > sweep_names_at) sweep_names();
    return last_name;
}

// Removes unused names: a program may give every work its own name.
void Engine::State::sweep_names() {
    std::vector<uint32_t> moved(names.size(), 0);
    std::vector<std::string> kept{""};
    const auto keep = [&](uint32_t& n) {
        if (!n) return;
        if (!moved[n]) {
            moved[n] = uint32_t(kept.size());
            kept.push_back(names[n]);
        }
        n = moved[n];
    };
    shadow.each([&](Segment& s) {
        for (Entry& e : s.writes) keep(e.name);
        for (Entry& e : s.reads) keep(e.name);
    });
    for (uint32_t n = 0; n < shadow.lifetime_count(); ++n) {
        Lifetime& l = shadow.lifetime(n);
        for (uint32_t* x : {&l.name, &l.allocated.name, &l.freed_by.name}) keep(*x);
    }
    for (auto& [_, e] : events) keep(e.by.name);
    keep(last_name);
    names = std::move(kept);
    name_ids.clear();
    for (uint32_t n = 1; n < names.size(); ++n) name_ids.emplace(names[n], n);
    sweep_names_at = std::max<size_t>(1 << 16, names.size() * 2);
}

Party Engine::State::party(const Entry& e, Party::Is is, uint64_t start, uint64_t end) {
    return {.is = is,
            .write = e.write,
            .work = e.work,
            .stream = e.stream,
            .thread = e.thread,
            .address = start,
            .bytes = end - start,
            .stack = e.stack,
            .name = names[e.name]};
}

// The smallest change that completes the first before the second starts.
Fix Engine::State::ordering_fix(const Entry& first, const Entry& second) {
    if (first.stream == no_stream) return {.what = Fix::Do::hand_over};
    Fix fix{.what = second.stream == no_stream ? Fix::Do::synchronize : Fix::Do::wait, .stream = first.stream};
    if (options.numbered) return fix;  // the newest record may come after the second
    const auto it = streams.find(first.stream);
    if (it == streams.end()) return fix;
    const Agent& s = *it->second;
    const auto e = events.find(s.recorded_event);
    if (s.recorded_count < first.count || e == events.end() || e->second.last != s.recorded_version) return fix;
    // Another event may have that id by now, and the same version.
    if (std::none_of(e->second.versions.begin(), e->second.versions.end(), [&](const auto& v) {
            return v.first == s.recorded_version && v.second.slot == s.slot && v.second.count == s.recorded_count;
        }))
        return fix;
    fix.recorded = true;
    fix.event = s.recorded_event;
    fix.version = s.recorded_version;
    return fix;
}

void Engine::State::retract(const Point& of) {
    std::erase_if(conflicts, [&](const Conflict& c) {
        if (!c.rests_on(of)) return false;
        Finding& f = findings[c.finding];
        --f.count;
        f.sure -= c.doubt == Doubt::none;
        f.certain = f.sure > 0;
        return true;
    });
    for (const Conflict& c : conflicts) {  // what remains of a finding that was certain
        Finding& f = findings[c.finding];
        if (!f.certain && f.doubt == Doubt::none) f.doubt = c.doubt;
    }
}

// first and second: of a conflict that may be refuted later; before: Conflict::before.
void Engine::State::report(Finding&& f, const Entry* first, const Entry* second, bool before) {
    const std::pair works{f.first.work, f.second.work};
    const std::tuple key{place(f.first), place(f.second), uint64_t(f.kind)};
    if (strict && f.certain && !strict->state_->seen.contains(key)) {
        f.certain = false;
        f.doubt = Doubt::order;
    }
    const auto [it, fresh] = seen.try_emplace(key, findings.size());
    const size_t number = std::min(it->second, max_findings - 1);
    const bool again = !fresh && works.second && works == last_pair;  // the same two conflict in another range
    last_pair = works;
    if (first && second && !again) {
        conflicts.push_back({number, first->slot, second->slot, first->count, second->count, f.doubt, before});
        if (conflicts.size() > kept_conflicts) conflicts.pop_front();
    }
    f.sure = f.certain;
    if (fresh && findings.size() < max_findings) {
        f.pieces.push_back(piece_of(f));
        findings.push_back(std::move(f));
        return;
    }
    Finding& known = findings[number];
    if (again && known.count == 1) extend(known, f);
    known.certain |= f.certain;
    if (again) return;
    known.sure += f.sure;
    ++known.count;
}

}  // namespace eventide::sanitizer
