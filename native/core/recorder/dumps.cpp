// Copies of a recording that are made while it goes on: when a signal asks for one, and when nothing was recorded for
// too long. The drainer makes them, so they need neither the GIL nor a thread of the program that still runs.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "encoding/json.hpp"
#include "recorder/session.hpp"
#include "tracefile/raw_trace.hpp"

namespace eventide::recorder {
namespace {

std::atomic<uint32_t> asked{0};  // how often the signal came
struct sigaction before;         // guarded by the lock of start and stop

void on_signal(int) {
    asked.fetch_add(1, std::memory_order_relaxed);
}

// Returning from the handler of a fault runs into the fault again, for ever.
bool is_fault(int signal) {
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL;
}

// A line on stderr, unless whoever reads it has stopped reading: the end of the recording waits for the drainer. A pipe
// that is ready takes a line whole.
void say(const std::string& line) {
    pollfd ready{STDERR_FILENO, POLLOUT, 0};
    if (poll(&ready, 1, 0) != 1 || !(ready.revents & POLLOUT)) return;
    const std::string text = "eventide: " + line + "\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

// t.eventide is dumped to t-dump-1.eventide, t-dump-2.eventide and so on.
std::string dump_path(const std::string& path, int number) {
    const size_t name = path.rfind('/') + 1, dot = path.rfind('.');
    const size_t stem = dot == std::string::npos || dot <= name ? path.size() : dot;
    return path.substr(0, stem) + "-dump-" + std::to_string(number) + path.substr(stem);
}

}  // namespace

void Session::hear_signal() {
    if (!options.dump_signal) return;
    asked_ = asked.load(std::memory_order_relaxed);
    struct sigaction action{};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    const bool fault = is_fault(options.dump_signal);
    if (fault || sigaction(options.dump_signal, &action, &before) != 0)
        throw Error(ErrorKind::value, "signal " + std::to_string(options.dump_signal) + " cannot be heard: " +
                                          (fault ? "it says that the program went wrong" : std::strerror(errno)) +
                                          "; choose another for dump_on");
}

bool Session::forget_signal() noexcept {
    struct sigaction now{};
    if (!options.dump_signal || sigaction(options.dump_signal, nullptr, &now) != 0) return true;
    if (now.sa_handler != on_signal) return false;
    sigaction(options.dump_signal, &before, nullptr);
    return true;
}

void Session::tell_taken() const {
    say("signal " + std::to_string(options.dump_signal) +
        " was taken over by the program, so that it made no copies from then on; choose another for dump_on");
}

// Has the program recorded anything since the last call? What threads that look on record is none of its doing, and
// neither is that they take chunks which it had filled.
bool Session::progressed() noexcept {
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
    if (const uint32_t times = asked.load(std::memory_order_relaxed); options.dump_signal && times != asked_) {
        asked_ = times;
        dump("signal " + std::to_string(options.dump_signal) + " asked for it");
    }
    if (!options.hang_ns) return;
    const int64_t now = now_ns();
    if (progressed() || !progress_ns_) {
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
    std::string said;
    try {
        if (!options.ring) drain();
        anchor();
        copy(options.path, to, json::Object().text("dumped", why).done());
        said = why + "; what was recorded until then is in " + to;
    } catch (const std::exception& error) {
        said = why + ", but what was recorded could not be copied to " + to + ": " + error.what();
    }
    say(said);
}

}  // namespace eventide::recorder
