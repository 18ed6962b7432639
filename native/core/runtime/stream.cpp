#include "runtime/stream.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/clock.hpp"
#include "base/context.hpp"
#include "base/futex.hpp"
#include "base/process.hpp"
#include "runtime/immediate_stream.hpp"
#include "runtime/push_stream.hpp"

namespace eventide {
namespace {

std::atomic<uint64_t> stream_ids{0};

// Every stream of the process: for device-wide synchronization, exit and fork.
struct StreamList {
    Mutex m;
    std::map<uint64_t, Stream*> by_id;  // guarded by m
};

StreamList* streams = new StreamList;  // leaked on purpose: workers may outlive static destruction

}  // namespace

uint64_t Stream::next_id() noexcept {
    return stream_ids.fetch_add(1, std::memory_order_relaxed) + 1;
}

Ref<Stream> Stream::open(Device& device, StreamOptions options) {
    const Capabilities can = device.capabilities(options.index);
    Ref<Stream> s;
    if (!device.polled())
        s = Ref<Stream>(new PushStream(device, std::move(options)));
    else if (can.deferred)
        s = Ref<Stream>(new PolledStream(device, std::move(options)));
    else
        s = Ref<Stream>(new ImmediateStream(device, std::move(options)));
    s->device_stream_ = device.open_stream(*s);
    s->opened();
    if (can.default_stream_blocks)
        s->default_role_ =
            s->options.is_default ? DefaultStreamRole::is_default : DefaultStreamRole::ordered_with_default;
    {
        std::lock_guard lock(streams->m);
        streams->by_id[s->id] = s.get();
    }
    if (hub::listening(Hook::stream_creation)) hub::fire(s->creation());
    return s;
}

HookRecord Stream::creation() const {
    HookRecord r{.hook = Hook::stream_creation, .device = device_id, .stream = id};
    r.name = options.name;
    if (default_role_ != DefaultStreamRole::none)
        r.group = default_role_ == DefaultStreamRole::is_default ? "default" : "behind";
    return r;
}

Stream::Stream(Device& device, StreamOptions options, StreamKind kind)
    : id(next_id()),
      device(device),
      device_id{device.number, options.index},
      options(std::move(options)),
      kind(kind),
      generation(process::generation.load(std::memory_order_relaxed)) {}

Stream::~Stream() {
    std::lock_guard lock(streams->m);
    streams->by_id.erase(id);
}

std::vector<Ref<Stream>> Stream::all() {
    std::lock_guard lock(streams->m);
    std::vector<Ref<Stream>> out;
    for (auto& [id, s] : streams->by_id)
        if (s->try_retain()) out.push_back(Ref<Stream>::adopt(s));  // false: it is being destroyed right now
    return out;
}

Ref<Stream> Stream::find(uint64_t id) {
    std::lock_guard lock(streams->m);
    const auto found = streams->by_id.find(id);
    if (found == streams->by_id.end() || !found->second->try_retain()) return {};
    return Ref<Stream>::adopt(found->second);
}

void Stream::after_fork_in_child() {
    streams = new StreamList;
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

void Stream::refuse_closed() const {
    throw Error(ErrorKind::stream, describe() + " is closed; make a new one with eventide.Stream()");
}

// The item is queued already: an error of flush fails later items, not this call.
void Stream::flush_device() {
    try {
        device_stream_->flush();
    } catch (const Error& e) {
        set_error(Ref<Failure>(new Failure(e.what())));
    }
}

void Stream::announce_deletion() {
    if (deletion_fired_.exchange(true, std::memory_order_relaxed) || !hub::listening(Hook::stream_deletion)) return;
    HookRecord r{.hook = Hook::stream_deletion, .device = device_id, .stream = id};
    r.name = options.name;
    hub::fire(r);
}

void Stream::set_error(Ref<Failure> failure) {
    std::lock_guard lock(m_);
    set_error_locked(std::move(failure));
}

void Stream::set_error_locked(Ref<Failure> failure) {
    if (stream_error_) return;
    stream_error_ = std::move(failure);
    has_error_.store(true, std::memory_order_release);
}

Outcome Stream::run_deferred(Work& work, int64_t& start, int64_t& end) {
    if (!work.begin()) return Outcome::cancelled;
    if (has_error()) {
        Ref<Failure> first;
        {
            std::lock_guard lock(m_);
            first = stream_error_;
        }
        // drained() may have cleared the error at exit, while this stream still runs.
        if (first) {
            work.skip(*first);
            return Outcome::skipped;
        }
    }
    Ref<Failure> failure = run_function(work, true, start, end);
    if (!failure) return Outcome::ok;
    set_error(std::move(failure));
    return Outcome::failed;
}

// `holds`: the stream cannot continue before the function returns.
Ref<Failure> Stream::run_function(Work& work, bool holds, int64_t& start, int64_t& end) {
    ThreadContext& context = thread_context;
    if (holds && context.submitting && context.submitting_work == work.id)
        std::exchange(context.submitting, nullptr)->on_submitted();
    const ThreadContext outer = context;
    context.running = this;
    context.position = work.position;
    context.running_work = work.id;
    if (holds) {
        context.work = work.id;
        context.work_stream = id;
        context.work_device = device_id;
        context.held = this;
        context.held_position = work.position;
    }
    const bool observed =
        hub::listening(Hook::work_completion);  // reading the clock is a large part of the cost of small work
    const bool cpu = observed && hub::cpu_time_wanted.load(std::memory_order_relaxed);
    if (cpu) work.cpu_ns = -thread_cpu_ns();
    if (observed) start = now_ns();
    if (holds) context.work_began_ns = observed ? start : 0;
    Ref<Failure> failure = work.run();
    if (observed) end = now_ns();
    if (cpu) work.cpu_ns += thread_cpu_ns();
    if (holds) {
        if (!context.work) hub::fire_end_of_work(id, work.id, device_id);
        context.work = outer.work;
        context.work_began_ns = outer.work_began_ns;
        context.work_stream = outer.work_stream;
        context.work_device = outer.work_device;
    }
    context.running = outer.running;
    context.position = outer.position;
    context.running_work = outer.running_work;
    context.held = outer.held;
    context.held_position = outer.held_position;
    return failure;
}

void Stream::start_work() {
    running_.store(true, std::memory_order_relaxed);
    // Pairs with sleep_until_space, which increments space_waiters_ and then lets the kernel compare queued_: at least
    // one of the two threads sees the store of the other.
    const uint32_t before = queued_.fetch_sub(1, std::memory_order_seq_cst);
    if (before == options.max_pending && space_waiters_.load(std::memory_order_seq_cst)) futex::wake_all(queued_);
}

// The stream cannot continue before its hooks return: a hook that waits for this stream gets an error (wait_graph.hpp).
void Stream::fire_completion(const Work& work, const HookRecord& r) {
    if (!hub::listening(Hook::work_completion)) return;
    ThreadContext& context = thread_context;
    Stream* const held = std::exchange(context.held, this);
    const uint64_t position = std::exchange(context.held_position, work.position);
    hub::fire(r);
    context.held = held;
    context.held_position = position;
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

Ref<Marker> Stream::mark_end(bool patient) {
    return queue_end(false, patient, nullptr);
}

Stream::Sync Stream::begin_sync(bool patient) {
    Sync out;
    out.marker = queue_end(true, patient, &out.failure);
    return out;
}

bool Stream::abandon_sync(Marker& marker) noexcept {
    std::lock_guard lock(m_);
    if (marker.decided() != MarkerState::pending) return false;
    marker.syncs = 0;
    std::erase(syncs_, &marker);
    abandoned_locked();
    return true;
}

Ref<Failure> Stream::heal_locked() {
    Ref<Failure> f = std::move(stream_error_);
    has_error_.store(false, std::memory_order_release);
    return f;
}

// The first synchronize that is reached heals; those queued at that moment raise the same error and heal nothing.
Ref<Failure> Stream::settle_sync_locked(Marker& marker) {
    std::erase(syncs_, &marker);
    if (marker.error_from_other_sync) return marker.error_from_other_sync;
    Ref<Failure> f = heal_locked();
    if (f)
        for (Marker* other : syncs_)
            if (!other->error_from_other_sync) other->error_from_other_sync = f;
    return f;
}

}  // namespace eventide
