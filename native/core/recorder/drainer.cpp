// The thread that moves sealed chunks from the buffer to the file. It never holds anything that a recording thread
// needs.
#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/futex.hpp"
#include "base/thread.hpp"
#include "recorder/session.hpp"
#include "tracefile/codec.hpp"

namespace eventide::recorder {
namespace {

constexpr int64_t busy_pause_ns = 5'000'000, idle_pause_ns = 50'000'000, longest_anchor_step_ns = 10'000'000'000;
constexpr size_t batch_bytes = 1 << 20;

}  // namespace

void Session::start_drainer() {
    ended_.store(0, std::memory_order_relaxed);
    try {
        start_thread(&Session::main, this);
    } catch (...) {
        ended_.store(1, std::memory_order_relaxed);
        throw;
    }
}

void* Session::main(void* self) {
    static_cast<Session*>(self)->loop();
    return nullptr;
}

void Session::loop() {
    name_this_thread("et-recorder");
    while (!ending_.load(std::memory_order_acquire)) {
        const uint32_t turn = wake_.load(std::memory_order_acquire);
        const bool idle = options.ring || sealed_.size() == 0;
        if (!options.ring) drain();
        {
            std::lock_guard lock(drain_);
            anchor_locked(false);
            timespec t;
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
            buffer.header().drainer_cpu_ns.store(uint64_t(t.tv_sec) * 1'000'000'000 + uint64_t(t.tv_nsec),
                                                 std::memory_order_relaxed);
        }
        watch();
        if (!ending_.load(std::memory_order_acquire)) futex::wait(wake_, turn, idle ? idle_pause_ns : busy_pause_ns);
    }
    ended_.store(1, std::memory_order_release);
    futex::wake_all(ended_);
}

void Session::end_drainer() noexcept {
    ending_.store(true, std::memory_order_release);
    wake_.fetch_add(1, std::memory_order_release);
    futex::wake_all(wake_);
    while (!ended_.load(std::memory_order_acquire)) futex::wait(ended_, 0, 100'000'000);
}

// Called by the recorded threads. The drainer looks by itself every few ms; it is woken when it should hurry.
void Session::seal(uint32_t index) noexcept {
    while (!sealed_.push(index)) {
        // A cell is held by a thread that stands still in pop; there are twice as many cells as chunks.
    }
    if (options.ring || sealed_.size() != buffer.header().chunk_count / 4) return;
    wake_.fetch_add(1, std::memory_order_release);
    futex::wake_all(wake_);
}

void Session::anchor() {
    std::lock_guard lock(drain_);
    anchor_locked(false);
}

int Session::drain() {
    std::lock_guard lock(drain_);
    return drain_locked();
}

int Session::drain_locked() {
    std::string encoded;
    for (;;) {
        uint32_t index;
        size_t bytes = 0;
        while (bytes < batch_bytes && sealed_.pop(index)) {
            pending_.push_back(index);
            bytes += buffer.chunk(index).used.load(std::memory_order_relaxed) * 8;
        }
        if (pending_.empty()) return 0;
        const uint64_t names_before = names_written_;
        add_names_locked();
        for (const uint32_t i : pending_) {
            const Chunk& chunk = buffer.chunk(i);
            const uint32_t used = chunk.used.load(std::memory_order_acquire);
            if (!used) continue;
            encoded.clear();
            encode(chunk, used, encoded);
            frame(FrameType::chunk, encoded, out_);
        }
        const int error = write_locked(out_);
        out_.clear();
        if (error) {
            names_written_ = names_before;
            return error;  // they stay where they are, and are tried again
        }
        if (options.durable) keep_error(file_.sync());
        for (const uint32_t i : pending_) free_.push(i);
        pending_.clear();
    }
}

int Session::write_locked(std::string_view bytes) noexcept {
    return keep_error(file_.append(bytes));
}

// The first is said with the trace.
int Session::keep_error(int error) noexcept {
    uint64_t none = 0;
    if (error) buffer.header().write_error.compare_exchange_strong(none, uint64_t(error), std::memory_order_relaxed);
    return error;
}

// What has been named since the last time. A chunk's names were all there before it was sealed.
void Session::add_names_locked() {
    const uint64_t used = buffer.header().names_used.load(std::memory_order_acquire);
    if (used == names_written_) return;
    std::string payload(reinterpret_cast<const char*>(&names_written_), 8);
    payload.append(buffer.names() + names_written_, used - names_written_);
    frame(FrameType::names, payload, out_);
    names_written_ = used;
}

// The newest anchor is always in the buffer; the file gets one at growing distances, and the first and the last.
void Session::anchor_locked(bool write) {
    const ticks::Anchor a = ticks::anchor();
    BufferHeader& h = buffer.header();
    h.anchor_seal.fetch_add(1, std::memory_order_acq_rel);
    h.anchor_ticks = a.ticks;
    h.anchor_ns = a.ns;
    h.anchor_width = a.width_ns;
    h.anchor_seal.fetch_add(1, std::memory_order_release);
    if (!write && a.ns < next_anchor_ns_) return;
    std::string payload(reinterpret_cast<const char*>(&a), sizeof a);
    std::string bytes;
    frame(FrameType::anchor, payload, bytes);
    if (write) {
        out_ += bytes;
    } else if (write_locked(bytes) != 0) {
        return;
    }
    next_anchor_ns_ = a.ns + anchor_step_ns_;
    anchor_step_ns_ = std::min(anchor_step_ns_ * 2, longest_anchor_step_ns);
}

}  // namespace eventide::recorder
