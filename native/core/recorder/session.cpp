#include "recorder/session.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/error.hpp"
#include "encoding/hex.hpp"
#include "encoding/json.hpp"
#include "hooks/hub.hpp"
#include "tracefile/raw_trace.hpp"

namespace eventide::recorder {
namespace {

int64_t clock_ns(clockid_t clock) noexcept {
    timespec t;
    clock_gettime(clock, &t);
    return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// A look at the clock and a store of 32 bytes, many times.
double measure_put_ns() noexcept {
    constexpr int rounds = 1000;
    static thread_local Entry scratch[64];
    const int64_t start = now_ns();
    for (int i = 0; i < rounds; ++i) {
        scratch[i % 64] = {ticks::now(), 1, Kind::begin, 0, 0, uint64_t(i), 0};
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    return double(now_ns() - start) / rounds;
}

}  // namespace

Session::Id::Id() {
    if (getrandom(bytes, sizeof bytes, 0) == ssize_t(sizeof bytes)) return;
    const int64_t unique[2] = {now_ns(), getpid()};
    std::memcpy(bytes, unique, sizeof bytes);
}

Session::Session(const Options& o, uint32_t generation)
    : options(o),
      generation(generation),
      buffer(Buffer::make(o.path, o.buffer_bytes, o.durable, o.ring, id.bytes)),
      names(buffer.header(), buffer.names()),
      free_(buffer.header().chunk_count),
      sealed_(buffer.header().chunk_count),
      seen_(buffer.header().chunk_count) {
    for (uint32_t i = 0; i < buffer.header().chunk_count; ++i) free_.push(i);
    put_ns_ = measure_put_ns();
    int error = 0;
    try {
        file_ = TraceFile(o.path);
        frame(FrameType::head, head(), out_);
        anchor_locked(true);
        error = write_locked(out_);
        out_.clear();
        if (error)
            throw Error(ErrorKind::device, "the recorder cannot write " + o.path + ": " + std::strerror(error) +
                                               "; give Recorder a path with room");
    } catch (const Error&) {
        buffer.unlink();
        throw;
    }
}

std::string Session::head() const {
    std::string listed = "[";
    for (int i = 0; i < hook_count; ++i) listed += (i ? ", " : "") + json::quote(hub::name(Hook(i)));
    json::Object out;
    out.text("session", hex(id.bytes, sizeof id.bytes)).text("buffer", buffer.path()).add("pid", uint64_t(getpid()));
    out.text("clock", ticks::source()).add("wall_ns", std::to_string(clock_ns(CLOCK_REALTIME)));
    out.add("wall_at_ns", std::to_string(now_ns())).add("hooks", listed + "]");
    out.add("ring", options.ring ? "true" : "false").add("durable", options.durable ? "true" : "false");
    out.add("stacks", options.stacks ? "true" : "false").add("buffer_bytes", buffer.header().bytes);
    out.add("put_ns", std::to_string(put_ns_)).add("about", options.about);
    return out.done();
}

uint32_t Session::take_lane() noexcept {
    return uint32_t(std::min<uint64_t>(buffer.header().lanes_used.fetch_add(1, std::memory_order_relaxed), most_lanes));
}

Chunk* Session::take_chunk(uint32_t track, bool looks_on, uint32_t& index) noexcept {
    const bool fresh = free_.pop(index);
    if (!fresh && !(options.ring && sealed_.pop(index))) return nullptr;
    Chunk& chunk = buffer.chunk(index);
    if (!fresh) count_overwritten(chunk);
    chunk.serial.store(0, std::memory_order_release);
    chunk.used.store(0, std::memory_order_release);
    chunk.track = track;
    chunk.is_profiler_thread.store(looks_on, std::memory_order_relaxed);
    chunk.serial.store(serials_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_release);
    return &chunk;
}

void Session::count_overwritten(const Chunk& chunk) noexcept {
    uint64_t lost[kind_count] = {};
    const uint32_t used = chunk.used.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < used; i += entries_of(chunk.entries[i].size)) ++lost[int(chunk.entries[i].kind)];
    for (int k = 1; k < kind_count; ++k)
        if (lost[k]) buffer.header().overwritten[k].fetch_add(lost[k], std::memory_order_relaxed);
}

Result Session::finish() {
    std::lock_guard lock(drain_);
    Result result;
    int error = drain_locked();
    if (!error) {
        anchor_locked(true);
        frame(FrameType::end, account_of(buffer.header(), &buffer.lane(0), most_lanes), out_);
        error = write_locked(out_);
        out_.clear();
    }
    if (!error && options.durable) error = file_.sync();
    file_.close();
    if (error) {
        result.buffer = buffer.path();
        result.write_error = std::strerror(error);
    } else {
        buffer.unlink();
    }
    return result;
}

int Session::note(std::string_view json) {
    std::lock_guard lock(drain_);
    std::string bytes;
    frame(FrameType::note, json, bytes);
    return write_locked(bytes);
}

void Session::abandon_in_child() noexcept {
    forget_signal();
    file_.close();
    buffer = Buffer();
}

}  // namespace eventide::recorder
