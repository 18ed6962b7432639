#include "runtime/stream.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/context.hpp"
#include "base/futex.hpp"
#include "base/process.hpp"
#include "runtime/immediate_stream.hpp"
#include "runtime/push_stream.hpp"
#include "runtime/streams.hpp"

namespace eventide {
namespace {

std::atomic<uint64_t> stream_ids{0};

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

Stream::Stream(Device& device, StreamOptions options, StreamKind kind)
    : id(next_id()),
      device(device),
      device_id{device.number, options.index},
      options(std::move(options)),
      kind(kind),
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

void Stream::refuse_closed() const {
    throw Error(ErrorKind::stream, describe() + " is closed; make a new one with eventide.Stream()");
}

// What is queued is queued: a device that cannot flush fails what comes after, not the verb.
void Stream::flush_device() {
    try {
        device_stream_->flush();
    } catch (const Error& e) {
        poison(Ref<Failure>(new Failure(e.what())));
    }
}

void Stream::announce_deletion() {
    if (deletion_told_.exchange(true, std::memory_order_relaxed) || !hub::listening(Hook::stream_deletion)) return;
    HookRecord r{.hook = Hook::stream_deletion, .device = device_id, .stream = id};
    r.name = options.name;
    hub::fire(r);
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

Outcome Stream::run_deferred(Work& work, int64_t& start, int64_t& end) {
    if (!work.begin()) return Outcome::cancelled;
    if (poisoned()) {
        Ref<Failure> first;
        {
            std::lock_guard lock(m_);
            first = poison_;
        }
        // At exit the error is taken out of a stream that still works: drained().
        if (first) {
            work.skip(*first);
            return Outcome::skipped;
        }
    }
    Ref<Failure> failure = run_function(work, true, start, end);
    if (!failure) return Outcome::ok;
    poison(std::move(failure));
    return Outcome::failed;
}

// `holds`: the stream cannot go on before the function returns.
Ref<Failure> Stream::run_function(Work& work, bool holds, int64_t& start, int64_t& end) {
    ThreadContext& context = thread_context;
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
    return failure;
}

void Stream::start_work() {
    running_.store(true, std::memory_order_relaxed);
    // Against sleep_for_room, which counts itself in and then lets the kernel compare queued_: one sees the other.
    const uint32_t before = queued_.fetch_sub(1, std::memory_order_seq_cst);
    if (before == options.max_pending && room_waiters_.load(std::memory_order_seq_cst)) futex::wake_all(queued_);
}

// The stream cannot go on before its hooks return: one that waits for this very stream is refused (graph.hpp).
void Stream::tell_completion(const Work& work, const HookRecord& r) {
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

}  // namespace eventide
