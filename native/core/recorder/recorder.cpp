#include "recorder/recorder.hpp"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <mutex>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "encoding/json.hpp"
#include "hooks/hub.hpp"
#include "recorder/session.hpp"
#include "recorder/stale_buffers.hpp"

namespace eventide::recorder {
namespace {

std::mutex change;  // start and stop
std::atomic<Session*> session{nullptr};
std::atomic<Lane*> lanes{nullptr};
uint32_t generations = 0;

int membarrier(int command) noexcept {
    return int(syscall(SYS_membarrier, command, 0, 0));
}

std::string name_of_this_thread() {
    char name[32] = {};
    pthread_getname_np(pthread_self(), name, sizeof name);
    return name;
}

// The name from the host language; empty: there is none.
std::string given_name() {
    const ThreadName named = thread_name.load(std::memory_order_relaxed);
    return named ? named() : "";
}

uint32_t track_of_this_thread(Session& s, const std::string& name, uint64_t attached) {
    json::Object track;
    track.text("kind", "thread").text("name", name).add("pid", uint64_t(getpid())).add("tid", hub::this_thread_id());
    return s.names.track(track.add("attached", attached).done());  // the system reuses thread ids
}

// A lane that no thread uses, or a new one. It keeps its lane record, so many short threads need few.
Lane* take_lane() {
    for (Lane* l = lanes.load(std::memory_order_acquire); l; l = l->next)
        if (!l->taken.load(std::memory_order_relaxed) && !l->taken.exchange(true, std::memory_order_acq_rel)) return l;
    auto* fresh = new Lane;
    fresh->next = lanes.load(std::memory_order_relaxed);
    while (!lanes.compare_exchange_weak(fresh->next, fresh, std::memory_order_release)) {
    }
    return fresh;
}

// Gives the lane's chunk to the drainer. The lane is busy, or no other thread uses it.
void seal(Lane& lane, Session& s) noexcept {
    if (lane.chunk) s.seal(lane.chunk_index);
    lane.chunk = nullptr;
    lane.used = lane.limit = 0;
}

// Gives the lane back when its thread ends.
struct Leaver {
    ~Leaver() {
        Lane* lane = this_lane;
        if (!lane) return;
        if (Put put(lane->generation.load(std::memory_order_relaxed), WithoutThreadName()); put)
            seal(*lane, *lane->session);
        this_lane = nullptr;
        lane->taken.store(false, std::memory_order_release);
    }
    bool here = false;
};
thread_local Leaver leaver;

void adopt(Lane& lane, Session& s, bool named) {
    lane.session = &s;
    lane.chunk = nullptr;
    lane.used = lane.limit = lane.spans = 0;
    if (lane.index_generation != s.generation) {
        lane.index = s.take_lane();
        lane.index_generation = s.generation;
    }
    lane.record = lane.index < most_lanes ? &s.buffer.lane(lane.index) : nullptr;
    lane.attached = s.attached.fetch_add(1, std::memory_order_relaxed) + 1;
    const std::string given = named ? given_name() : "";
    lane.track = track_of_this_thread(s, given.empty() ? name_of_this_thread() : given, lane.attached);
    lane.named = named ? s.generation : 0;
    lane.generation.store(s.generation, std::memory_order_relaxed);
}

// The track has the system's name so far; a second description of the same thread has its own name.
void write_thread_name(Lane& lane, Session& s) {
    if (const std::string given = given_name(); !given.empty()) track_of_this_thread(s, given, lane.attached);
    lane.named = s.generation;
}

void add(std::atomic<uint64_t>& count) noexcept {
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // one writer
}

// Waits until no thread is inside an earlier Put. False: one still is after a second.
bool quiet() noexcept {
    if (!own_fences.load(std::memory_order_relaxed)) membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    const int64_t deadline = now_ns() + 1'000'000'000;
    for (Lane* l = lanes.load(std::memory_order_acquire); l; l = l->next)
        while (l->busy.load(std::memory_order_seq_cst)) {
            if (now_ns() > deadline) return false;
            sched_yield();
        }
    return true;
}

[[maybe_unused]] const int recorder_at_fork = pthread_atfork(nullptr, nullptr, [] { after_fork_in_child(); });

}  // namespace

void Put::attach(uint32_t generation, bool named) noexcept {
    if (!generation || on.load(std::memory_order_relaxed) != generation) return;
    Lane* lane = this_lane;
    const bool here = lane && lane->generation.load(std::memory_order_relaxed) == generation;
    if (!lane) {
        lane = take_lane();
        leaver.here = true;  // from now on the lane is returned at the end of the thread
        this_lane = lane;
    }
    enter(*lane, generation);
    if (!lane_) return;
    if (here) return write_thread_name(*lane, *lane->session);
    // A stop() that gave up on this thread has already removed the session; one that does so later keeps its memory.
    Session* s = session.load(std::memory_order_acquire);
    if (s && s->generation == generation) return adopt(*lane, *s, named);
    lane_ = nullptr;
    lane->busy.store(0, std::memory_order_release);
}

bool Put::next_chunk(Kind kind) noexcept {
    Lane& l = *lane_;
    Session& s = *l.session;
    seal(l, s);
    if (l.record) {
        l.chunk = s.take_chunk(l.track, is_profiler_thread, l.chunk_index);
        if (l.chunk) {
            l.limit = chunk_entries;
            return true;
        }
        add(l.record->dropped[int(kind)]);
    } else {
        s.buffer.header().unattached.fetch_add(1, std::memory_order_relaxed);
    }
    return false;
}

uint32_t Put::name(std::string_view text) const {
    return lane_->session->names.text(text);
}

uint32_t Put::track(std::string_view json) const {
    return lane_->session->names.track(json);
}

uint32_t Put::stack(uint32_t id) const {
    return id ? lane_->session->names.stack(id) : 0;
}

void Put::count_truncated(Kind kind) noexcept {
    if (lane_->record) add(lane_->record->truncated[int(kind)]);
}

uint32_t start(const Options& options) {
    std::lock_guard lock(change);
    if (const Session* s = session.load(std::memory_order_relaxed))
        throw Error(ErrorKind::usage, "a recording to " + s->options.path + " is running; stop it first");
    if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0) own_fences.store(true, std::memory_order_seq_cst);
    remove_stale_buffers();
    auto fresh = std::make_unique<Session>(options, generations + 1);
    try {
        fresh->install_dump_signal();
        fresh->start_drainer();
    } catch (...) {
        fresh->restore_dump_signal();
        fresh->buffer.unlink();
        throw;
    }
    session.store(fresh.release(), std::memory_order_release);
    captures_stacks.store(options.stacks, std::memory_order_relaxed);
    on.store(++generations, std::memory_order_release);
    return generations;
}

Result stop() {
    std::lock_guard lock(change);
    Session* s = session.load(std::memory_order_relaxed);
    if (!s) throw Error(ErrorKind::usage, "nothing is being recorded; start a Recorder first");
    on.store(0, std::memory_order_seq_cst);
    captures_stacks.store(false, std::memory_order_relaxed);
    if (!s->restore_dump_signal()) s->report_replaced_signal();
    const bool alone = quiet();
    if (alone)
        for (Lane* l = lanes.load(std::memory_order_acquire); l; l = l->next)
            if (l->generation.load(std::memory_order_relaxed) == s->generation) seal(*l, *s);
    s->end_drainer();
    Result result = s->finish();
    session.store(nullptr, std::memory_order_release);
    if (!alone) return result;  // a thread hangs inside a Put: the session and its buffer are leaked for it
    free_in_background(std::move(s->buffer));
    delete s;
    return result;
}

void note(std::string_view json) {
    std::lock_guard lock(change);
    if (Session* s = session.load(std::memory_order_relaxed)) s->note(json);
}

std::string path() {
    std::lock_guard lock(change);
    const Session* s = session.load(std::memory_order_relaxed);
    return s ? s->options.path : "";
}

void flush() {
    std::lock_guard lock(change);
    if (Session* s = session.load(std::memory_order_relaxed)) {
        if (!s->options.ring) s->drain();  // a ring keeps its chunks
        s->anchor();                       // a reader of the file must not depend on the drainer's last anchor
    }
}

void after_fork_in_child() noexcept {
    on.store(0, std::memory_order_seq_cst);
    captures_stacks.store(false, std::memory_order_relaxed);
    new (&change) std::mutex;  // a thread of the parent may have held it
    if (Session* s = session.exchange(nullptr, std::memory_order_relaxed)) s->abandon_in_child();
    lanes.store(nullptr, std::memory_order_relaxed);
    this_lane = nullptr;
}

}  // namespace eventide::recorder
