#include "recorder/session.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <string>
#include <system_error>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/futex.hpp"
#include "base/thread.hpp"
#include "encoding/hex.hpp"
#include "encoding/json.hpp"
#include "hooks/hub.hpp"
#include "tracefile/codec.hpp"
#include "tracefile/raw_trace.hpp"

namespace eventide::recorder {
namespace {

int64_t clock_ns(clockid_t clock) noexcept {
    timespec t;
    clock_gettime(clock, &t);
    return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// A reading of the clock and a store of 32 bytes, many times.
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

constexpr int64_t busy_pause_ns = 5'000'000, idle_pause_ns = 50'000'000, longest_anchor_step_ns = 10'000'000'000;
constexpr size_t batch_bytes = 1 << 20;

std::atomic<uint32_t> dumps_requested{0};  // how often the signal arrived
struct sigaction before;                   // guarded by the lock of start and stop

void on_signal(int) {
    dumps_requested.fetch_add(1, std::memory_order_relaxed);
}

// Returning from the handler of a fault raises the fault again, without end.
bool is_fault(int signal) {
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL;
}

// A line on stderr, unless the write could block, since the end of the recording waits for the drainer. A pipe that is
// ready takes a whole line.
void print_line(const std::string& line) {
    pollfd ready{STDERR_FILENO, POLLOUT, 0};
    if (poll(&ready, 1, 0) != 1 || !(ready.revents & POLLOUT)) return;
    const std::string text = "eventide: " + line + "\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

// t.eventide is dumped to t-dump-1.eventide, t-dump-2.eventide and so on.
std::string dump_path(const std::string& path, int number) {
    const size_t name = path.rfind('/') + 1, dot = path.rfind('.');
    const size_t stem = dot == std::string::npos || dot <= name ? path.size() : dot;
    return path.substr(0, stem) + "-dump-" + std::to_string(number) + path.substr(stem);
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
        if (error) throw std::system_error(error, std::generic_category(), o.path);
    } catch (...) {
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

Chunk* Session::take_chunk(uint32_t track, bool is_profiler_thread, uint32_t& index) noexcept {
    const bool fresh = free_.pop(index);
    if (!fresh && !(options.ring && sealed_.pop(index))) return nullptr;
    Chunk& chunk = buffer.chunk(index);
    if (!fresh) count_overwritten(chunk);
    chunk.serial.store(0, std::memory_order_release);
    chunk.used.store(0, std::memory_order_release);
    chunk.track = track;
    chunk.is_profiler_thread.store(is_profiler_thread, std::memory_order_relaxed);
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
    restore_dump_signal();
    file_.close();
    buffer.forget();
}

// The drainer: the thread that moves sealed chunks from the buffer to the file. It holds no lock that a recording
// thread needs.

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

// Called by the recorded threads. The drainer checks by itself every few ms; it is woken when it should hurry.
void Session::seal(uint32_t index) noexcept {
    while (!sealed_.push(index)) {
        // A cell is held by a thread that was suspended inside pop; there are twice as many cells as chunks.
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
            return error;  // they stay pending, and the next drain tries again
        }
        if (options.durable) keep_error(file_.sync());
        for (const uint32_t i : pending_) free_.push(i);
        pending_.clear();
    }
}

int Session::write_locked(std::string_view bytes) noexcept {
    return keep_error(file_.append(bytes));
}

// The first error is reported with the trace.
int Session::keep_error(int error) noexcept {
    uint64_t none = 0;
    if (error) buffer.header().write_error.compare_exchange_strong(none, uint64_t(error), std::memory_order_relaxed);
    return error;
}

// Names added since the last call. All names of a chunk were added before it was sealed.
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

// Dumps: copies of a recording that are made while it continues, when a signal requests one and when nothing was
// recorded for too long. The drainer makes them, so they need neither the GIL nor a thread of the program that still
// runs.

void Session::install_dump_signal() {
    if (!options.dump_signal) return;
    dumps_handled_ = dumps_requested.load(std::memory_order_relaxed);
    struct sigaction action{};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    const bool fault = is_fault(options.dump_signal);
    if (fault || sigaction(options.dump_signal, &action, &before) != 0)
        throw Error(ErrorKind::value, "signal " + std::to_string(options.dump_signal) + " cannot be handled: " +
                                          (fault ? "it reports a fault of the program" : std::strerror(errno)) +
                                          "; choose another for dump_on");
}

bool Session::restore_dump_signal() noexcept {
    struct sigaction now{};
    if (!options.dump_signal || sigaction(options.dump_signal, nullptr, &now) != 0) return true;
    if (now.sa_handler != on_signal) return false;
    sigaction(options.dump_signal, &before, nullptr);
    return true;
}

void Session::report_replaced_signal() const {
    print_line("signal " + std::to_string(options.dump_signal) +
               " was taken over by the program, so that it made no copies from then on; choose another for dump_on");
}

// Whether the program recorded anything since the last call. Chunks of profiler threads do not count, nor do chunks
// that such threads take over.
bool Session::program_progressed() noexcept {
    bool any = false;
    for (uint32_t i = 0; i < buffer.header().chunk_count; ++i) {
        const Chunk& chunk = buffer.chunk(i);
        const uint64_t serial = chunk.serial.load(std::memory_order_acquire);
        const uint64_t now = (serial << 16) + chunk.used.load(std::memory_order_relaxed);
        if (!serial || now == seen_[i] || chunk.is_profiler_thread.load(std::memory_order_relaxed)) continue;
        seen_[i] = now;
        any = true;
    }
    return any;
}

void Session::watch() {
    if (const uint32_t times = dumps_requested.load(std::memory_order_relaxed);
        options.dump_signal && times != dumps_handled_) {
        dumps_handled_ = times;
        dump("signal " + std::to_string(options.dump_signal) + " was received");
    }
    if (!options.hang_ns) return;
    const int64_t now = now_ns();
    if (program_progressed() || !progress_ns_) {
        progress_ns_ = now;
        hangs_ = false;
    } else if (!hangs_ && now - progress_ns_ >= options.hang_ns) {
        hangs_ = true;  // once, until something is recorded again
        char words[64];
        std::snprintf(words, sizeof words, "nothing was recorded for %.6g s", double(options.hang_ns) / 1e9);
        dump(words);
    }
}

void Session::dump(const std::string& why) {
    const std::string to = dump_path(options.path, ++dumps_);
    std::string line;
    try {
        if (!options.ring) drain();
        anchor();
        copy(options.path, to, json::Object().text("dumped", why).done());
        line = why + "; what was recorded until then is in " + to;
    } catch (const std::exception& error) {
        line = why + ", but what was recorded could not be copied to " + to + ": " + error.what();
    }
    print_line(line);
}

}  // namespace eventide::recorder
