#include "stream.hpp"

#include <algorithm>
#include <utility>

#include "clock.hpp"
#include "context.hpp"
#include "futex.hpp"
#include "process.hpp"
#include "stream_order.hpp"
#include "streams.hpp"

namespace eventide {
namespace {

std::atomic<uint64_t> stream_ids{0};

}  // namespace

uint64_t Stream::next_id() noexcept {
    return stream_ids.fetch_add(1, std::memory_order_relaxed) + 1;
}

Ref<Stream> Stream::open(Device& device, StreamOptions options) {
    Ref<Stream> s(new Stream(device, std::move(options)));
    s->device_stream_ = device.open_stream(*s);
    s->polled_ = s->device_stream_->polled();
    if (s->polled_ && (s->clock_ = device.clock(s->options.index)) && s->clock_->due(now_ns()))
        device.sample_clock(s->options.index, *s->clock_, 8);
    const Capabilities can = device.capabilities(s->options.index);
    s->immediate_ = s->polled_ && !can.deferred;
    if (can.default_stream_blocks) s->standing_ = s->options.is_default ? "default" : "behind";
    streams::add(*s);
    if (hub::listening(Hook::stream_creation)) hub::fire(s->creation());
    return s;
}

HookRecord Stream::creation() const {
    HookRecord r{.hook = Hook::stream_creation, .device = device_id, .stream = id};
    r.name = options.name;
    r.group = standing_;
    return r;
}

Stream::Stream(Device& device, StreamOptions options)
    : id(next_id()),
      device(device),
      device_id{device.number, options.index},
      options(std::move(options)),
      generation(process::generation.load(std::memory_order_relaxed)) {}

Stream::~Stream() {
    streams::remove(*this);
}

std::vector<Ref<Stream>> Stream::all() {
    return streams::all();
}

std::string Stream::describe() const {
    std::string out = "stream " + std::to_string(id);
    if (!options.name.empty()) out += " '" + options.name + "'";
    return out + " (" + devices::name(device_id) + ")";
}

void Stream::check_usable() const {
    if (!process::is_current(generation)) throw Error(ErrorKind::stream, process::before_fork(describe()));
    check_open();
}

void Stream::check_open() const {
    if (closed()) throw Error(ErrorKind::stream, describe() + " is closed; make a new one with eventide.Stream()");
}

uint64_t Stream::next_position_locked() noexcept {
    const uint64_t p = position_.load(std::memory_order_relaxed) + 1;
    position_.store(p, std::memory_order_release);
    return p;
}

Ref<Marker> Stream::take_marker_locked(uint64_t event, bool timing) {
    retain();
    Ref<Marker> marker(markers_.take(*this, next_position_locked(), event, timing, polled_));
    if (polled_) outstanding_.push_back(marker);
    if (immediate_) marker->doom = fate_;
    return marker;
}

uint64_t Stream::try_submit(Work& work, Ref<Marker>* behind, Submitted* told) {
    if (immediate_) return submit_now(work, behind, told);
    uint64_t p = 0;
    Ref<Marker> marker;
    const auto prepare = [&] {
        check_open();
        if (options.max_pending && queued() >= options.max_pending) return false;
        queued_.fetch_add(1, std::memory_order_relaxed);
        work.position = p = next_position_locked();
        if (polled_) {
            marker = take_marker_locked(0, true);
            marker->work = &work;
        }
        return true;
    };
    bool taken = false;
    const auto tell = [&] {
        device_stream_->submit(work);
        taken = true;
        if (marker) device_stream_->mark(*marker);
    };
    try {
        if (!in_order(prepare, tell)) return 0;
    } catch (const Error& e) {
        if (!marker) throw;
        if (!taken) {  // the device refused: the work stays the caller's
            marker->work = nullptr;
            drop_outstanding(*marker);
            device_stream_->forget(work);
            queued_.fetch_sub(1, std::memory_order_relaxed);
            throw;
        }
        broken_.add(*marker, e.what());  // it has the work and may run it; the Future fails all the same
    }
    if (behind) *behind = marker;
    flush_device();
    return p;
}

// What is queued is queued: a device that cannot flush fails what comes after, not the verb.
void Stream::flush_device() {
    try {
        device_stream_->flush();
        if (polled_ && position() % 64 == 0) ask_sometimes();
    } catch (const Error& e) {
        poison(Ref<Failure>(new Failure(e.what())));
    }
}

void Stream::tell_marker(Marker& marker) {
    try {
        device_stream_->mark(marker);
    } catch (const Error&) {
        drop_outstanding(marker);
        throw;
    }
}

void Stream::drop_outstanding(Marker& marker) {
    std::lock_guard lock(m_);
    std::erase_if(outstanding_, [&](const Ref<Marker>& m) { return m.get() == &marker; });
    std::erase(syncs_, &marker);
}

Ref<Marker> Stream::record(bool timing, uint64_t event) {
    Ref<Marker> marker;
    in_order(
        [&] {
            check_open();
            marker = take_marker_locked(event, timing);
            return true;
        },
        [&] { tell_marker(*marker); });
    flush_device();
    return marker;
}

void Stream::wait(Marker& marker) {
    uint64_t p = 0;
    const bool queued = in_order(
        [&] {
            check_open();
            if (marker.state() == MarkerState::done) return false;
            p = next_position_locked();
            waits_.push_back({p, Ref<Marker>(&marker)});
            if (immediate_ && !fate_) fate_ = marker.state() == MarkerState::failed ? marker.failure() : marker.doom;
            return true;
        },
        [&] { device_stream_->wait(marker, p); });
    if (queued) flush_device();
}

// The window between "its Future is done" and "its position is completed" is some nanoseconds wide; whoever looks into
// it waits it out, so that neither answer contradicts the other.
bool Stream::idle() {
    const uint64_t p = position();
    if (completed() >= p) return true;
    if (polled_) {
        Ref<Marker> end = last_marker();
        if (!end) end = mark_end();
        return !end || !end->pending();
    }
    while (finishing_.load(std::memory_order_acquire) >= p)
        if (completed() >= p) return true;
    return false;
}

void Stream::close() noexcept {
    {
        std::lock_guard lock(m_);
        refuse();
        if (std::exchange(finished_, true)) return;
        if (!polled_) device_stream_->finish();
    }
    if (polled_)
        close_when_drained();
    else
        flush_device();
}

void Stream::announce_deletion() {
    if (deletion_told_.exchange(true, std::memory_order_relaxed) || !hub::listening(Hook::stream_deletion)) return;
    HookRecord r{.hook = Hook::stream_deletion, .device = device_id, .stream = id};
    r.name = options.name;
    hub::fire(r);
}

void Stream::sleep_for_room(int64_t ns) {
    const uint32_t n = queued_.load(std::memory_order_seq_cst);
    if (n < options.max_pending) return;
    if (polled_) {
        if (Ref<Marker> first = first_marker()) first->sleep(ns);
        return;
    }
    room_waiters_.fetch_add(1, std::memory_order_seq_cst);
    futex::wait(queued_, n, ns);
    room_waiters_.fetch_sub(1, std::memory_order_relaxed);
}

void Stream::pass(Marker& marker, int64_t time_ns) {
    std::lock_guard lock(m_);
    pass_locked(marker, time_ns);
}

void Stream::pass_locked(Marker& marker, int64_t time_ns, int64_t device_ns) {
    Ref<Failure> f = marker.syncs ? settle_sync_locked(marker) : poison_;
    const uint64_t p = marker.position();
    finishing_.store(p, std::memory_order_release);
    marker.complete(time_ns, device_ns, std::move(f));
    completed_.store(p, std::memory_order_release);
}

void Stream::waited(Marker& marker, uint64_t position) {
    Ref<Marker> dropped;
    std::lock_guard lock(m_);
    dropped = waited_locked(marker, position);
}

Ref<Marker> Stream::waited_locked(Marker& marker, uint64_t position) {
    if (marker.state() == MarkerState::failed) poison_locked(marker.failure());
    Ref<Marker> dropped = std::move(waits_.front().marker);
    waits_.pop_front();
    completed_.store(position, std::memory_order_release);
    return dropped;
}

void Stream::poison(Ref<Failure> failure) {
    std::lock_guard lock(m_);
    poison_locked(std::move(failure));
}

void Stream::poison_locked(Ref<Failure> failure) {
    if (poison_) return;
    poison_ = std::move(failure);
    if (immediate_ && syncs_.empty() && !fate_) fate_ = poison_;  // one on its way will heal it
    poisoned_.store(true, std::memory_order_release);
}

Outcome Stream::run_work(Work& work, int64_t& start, int64_t& end) {
    if (!work.begin()) return Outcome::cancelled;
    if (!immediate_ && poisoned()) {
        Ref<Failure> first;
        {
            std::lock_guard lock(m_);
            first = poison_;
        }
        work.skip(*first);
        return Outcome::skipped;
    }
    ThreadContext& context = thread_context;
    const ThreadContext outer = context;
    context.running = this;
    context.position = work.position;
    context.running_work = work.id;
    if (!immediate_) {
        context.work = work.id;
        context.held = this;
        context.held_position = work.position;
    }
    const bool told = hub::listening(Hook::work_completion);  // reading the clock is a good part of a small work's cost
    const bool cpu = told && hub::cpu_time_wanted.load(std::memory_order_relaxed);
    if (cpu) work.cpu_ns = -thread_cpu_ns();
    if (told) start = now_ns();
    Ref<Failure> failure = work.run();
    if (told) end = now_ns();
    if (cpu) work.cpu_ns += thread_cpu_ns();
    context.running = outer.running;
    context.position = outer.position;
    context.work = 0;
    context.running_work = outer.running_work;
    context.held = outer.held;
    context.held_position = outer.held_position;
    if (!failure) return Outcome::ok;
    if (immediate_)
        work.failure = std::move(failure);  // it poisons the stream where its marker stands
    else
        poison(std::move(failure));
    return Outcome::failed;
}

void Stream::start_work() {
    running_.store(true, std::memory_order_relaxed);
    const uint32_t before = queued_.fetch_sub(1, std::memory_order_seq_cst);
    if (before == options.max_pending && room_waiters_.load(std::memory_order_seq_cst)) futex::wake_all(queued_);
}

void Stream::end_work(Work& work, const HookRecord& r) {
    if (hub::listening(Hook::work_completion)) hub::fire(r);
    finishing_.store(work.position, std::memory_order_release);
    running_.store(false, std::memory_order_relaxed);
    work.publish();
    completed_.store(work.position, std::memory_order_release);
    work.dispose();
}

void Stream::execute(Work& work) {
    if (polled_) return execute_polled(work);
    start_work();
    HookRecord r{.hook = Hook::work_completion, .device = device_id, .stream = id, .work = work.id};
    r.outcome = run_work(work, r.start_ns, r.end_ns);
    r.cpu_ns = work.cpu_ns;
    if (!r.start_ns && hub::listening(Hook::work_completion)) r.start_ns = r.end_ns = now_ns();
    end_work(work, r);
}

void Stream::drained() {
    Ref<Failure> unseen;
    {
        std::lock_guard lock(m_);
        unseen = heal_locked();
    }
    if (unseen) unseen->report_unseen(describe());
}

void Stream::return_marker(Marker* m) noexcept {
    markers_.put(m);
    release();
}

uint64_t Stream::markers_allocated() const {
    std::lock_guard lock(m_);
    return markers_.allocated();
}

}  // namespace eventide
