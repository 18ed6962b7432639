#include "stream.hpp"

#include <algorithm>
#include <utility>

#include "clock.hpp"
#include "context.hpp"
#include "futex.hpp"
#include "process.hpp"
#include "streams.hpp"

namespace eventide {
namespace {

std::atomic<uint64_t> stream_ids{0};

}  // namespace

Ref<Stream> Stream::open(Device& device, StreamOptions options) {
    Ref<Stream> s(new Stream(device, std::move(options)));
    s->device_stream_ = device.open_stream(*s);
    s->polled_ = s->device_stream_->polled();
    streams::add(*s);
    if (hub::listening(Hook::stream_creation)) {
        HookRecord r{.hook = Hook::stream_creation, .device = s->device_id, .stream = s->id};
        r.name = s->options.name;
        hub::fire(r);
    }
    return s;
}

Stream::Stream(Device& device, StreamOptions options)
    : id(stream_ids.fetch_add(1, std::memory_order_relaxed) + 1),
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

// Gives the device its next items in stream order: prepare() takes the position under m_ (false: nothing to do), tell()
// calls the device, under m_ too if the device tells, under order_ alone if it is asked.
template <class Prepare, class Tell>
bool Stream::in_order(Prepare prepare, Tell tell) {
    if (polled_) {
        std::lock_guard order(order_);
        {
            std::lock_guard lock(m_);
            if (!prepare()) return false;
        }
        tell();
    } else {
        std::lock_guard lock(m_);
        if (!prepare()) return false;
        tell();
    }
    return true;
}

Ref<Marker> Stream::take_marker_locked(uint64_t event, bool timing) {
    retain();
    Ref<Marker> marker(markers_.take(*this, next_position_locked(), event, timing, polled_));
    if (polled_) outstanding_.push_back(marker);
    return marker;
}

uint64_t Stream::try_submit(Work& work, Ref<Marker>* behind) {
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

Ref<Marker> Stream::mark_end(bool sync, Ref<Failure>* healed) {
    Ref<Marker> marker;
    const bool queued = in_order(
        [&] {
            if (completed() >= position()) {
                if (healed) *healed = heal_locked();
                return false;
            }
            marker = take_marker_locked(0, false);
            if (sync) {
                marker->syncs = 1;
                syncs_.push_back(marker.get());
            }
            return true;
        },
        [&] { tell_marker(*marker); });
    if (queued) flush_device();
    return marker;
}

Ref<Marker> Stream::mark_end() {
    return mark_end(false, nullptr);
}

Stream::Sync Stream::begin_sync() {
    Sync out;
    out.marker = mark_end(true, &out.failure);
    return out;
}

bool Stream::abandon_sync(Marker& marker) noexcept {
    std::lock_guard lock(m_);
    if (marker.state() != MarkerState::pending) return false;
    marker.syncs = 0;
    std::erase(syncs_, &marker);
    return true;
}

Ref<Failure> Stream::heal_locked() {
    Ref<Failure> f = std::move(poison_);
    poisoned_.store(false, std::memory_order_release);
    return f;
}

// The first synchronize that is reached heals; those queued at that moment raise the same error and heal nothing.
Ref<Failure> Stream::settle_sync_locked(Marker& marker) {
    std::erase(syncs_, &marker);
    if (marker.inherited) return marker.inherited;
    Ref<Failure> f = heal_locked();
    if (f)
        for (Marker* other : syncs_)
            if (!other->inherited) other->inherited = f;
    return f;
}

void Stream::pass(Marker& marker, int64_t time_ns) {
    std::lock_guard lock(m_);
    pass_locked(marker, time_ns);
}

void Stream::pass_locked(Marker& marker, int64_t time_ns) {
    Ref<Failure> f = marker.syncs ? settle_sync_locked(marker) : poison_;
    const uint64_t p = marker.position();
    finishing_.store(p, std::memory_order_release);
    marker.complete(time_ns, std::move(f));
    completed_.store(p, std::memory_order_release);
}

void Stream::waited(Marker& marker, uint64_t position) {
    std::lock_guard lock(m_);
    waited_locked(marker, position);
}

void Stream::waited_locked(Marker& marker, uint64_t position) {
    if (marker.state() == MarkerState::failed) poison_locked(marker.failure());
    waits_.pop_front();
    completed_.store(position, std::memory_order_release);
}

void Stream::poison(Ref<Failure> failure) {
    std::lock_guard lock(m_);
    poison_locked(std::move(failure));
}

void Stream::poison_locked(Ref<Failure> failure) {
    if (poison_) return;
    poison_ = std::move(failure);
    poisoned_.store(true, std::memory_order_release);
}

Outcome Stream::run_work(Work& work, int64_t& start, int64_t& end) {
    if (!work.begin()) return Outcome::cancelled;
    if (poisoned()) {
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
    const bool told = hub::listening(Hook::work_completion);  // reading the clock is a good part of a small work's cost
    const bool cpu = told && hub::cpu_time_wanted.load(std::memory_order_relaxed);
    if (cpu) work.cpu_ns = -thread_cpu_ns();
    if (told) start = now_ns();
    Ref<Failure> failure = work.run();
    if (told) end = now_ns();
    if (cpu) work.cpu_ns += thread_cpu_ns();
    context.running = outer.running;
    context.position = outer.position;
    if (!failure) return Outcome::ok;
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
