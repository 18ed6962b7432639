// The recorder without Python: threads that come and go, chunks that run out, and a stop in the middle of it all.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "check.hpp"
#include "recorder/payload_records.hpp"
#include "recorder/recorder.hpp"
#include "tracefile/raw_trace.hpp"
#include "tracefile/trace_columns.hpp"

using namespace eventide;
using namespace eventide::recorder;

namespace {

class Folder {
  public:
    Folder() { CHECK(mkdtemp(path_) != nullptr); }
    ~Folder() {
        for (const char* name : {"a", "b", "a.buffer", "b.buffer", "a-dump-1"}) unlink((*this / name).c_str());
        rmdir(path_);
    }
    std::string operator/(const std::string& name) const { return std::string(path_) + "/" + name; }

  private:
    char path_[64] = "/tmp/eventide-test-XXXXXX";
};

constexpr uint64_t small = 1 << 20;

TraceColumns read(const std::string& path, RawTrace& raw) {
    raw = load(path);
    return columns_of(raw);
}

uint64_t number_in(const std::string& json, const std::string& part, const std::string& kind) {
    const size_t at = json.find("\"" + part + "\": {");
    const size_t key = json.find("\"" + kind + "\": ", at);
    return std::stoull(json.substr(key + kind.size() + 4));
}

// One span and one counter, as the bindings put them; the number of records kept.
int put_some(uint64_t value) {
    Put put;
    if (!put) return 0;
    const uint32_t number = ++put.lane().spans;
    int kept = put.one(Kind::begin, put.name("work"), number, 0);
    kept += put.one(Kind::counter, put.name("n"), value, 0);
    kept += put.one(Kind::end, 0, number, put.lane().track);
    return kept;
}

}  // namespace

TEST(off_records_nothing) {
    CHECK(!Put());
    record_span("", "x", "", 1, 2);
    CHECK_THROWS(stop(), ErrorKind::usage, "nothing is being recorded");
    CHECK(path().empty());
}

TEST(threads_that_come_and_go_are_all_there) {
    Folder folder;
    start({.path = folder / "a"});
    CHECK_THROWS(start({.path = folder / "b"}), ErrorKind::usage, "stop it first");
    for (int round = 0; round < 5; ++round) {
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([] {
                for (uint64_t i = 0; i < 1000; ++i) CHECK(put_some(i) == 3);
            });
        for (auto& t : threads) t.join();
    }
    const Result result = stop();
    CHECK(result.buffer.empty() && result.write_error.empty());
    RawTrace raw;
    const TraceColumns trace = read(folder / "a", raw);
    CHECK(raw.closed && trace.damaged == 0 && trace.lost_ends == 0);
    CHECK(trace.spans.start.size() == 20'000 && trace.counters.time.size() == 20'000);
    for (size_t i = 0; i < trace.spans.start.size(); ++i) CHECK(trace.spans.end[i] >= trace.spans.start[i]);
    CHECK(std::set(trace.spans.track.begin(), trace.spans.track.end()).size() == 20);
}

TEST(what_is_kept_and_what_is_dropped_is_what_was_put) {
    for (const bool ring : {false, true}) {
        Folder folder;
        start({.path = folder / "a", .buffer_bytes = small, .ring = ring});
        std::atomic<uint64_t> kept{0};
        constexpr uint64_t each = 30'000, threads = 4;
        std::vector<std::thread> all;
        for (uint64_t t = 0; t < threads; ++t)
            all.emplace_back([&] {
                uint64_t mine = 0;
                for (uint64_t i = 0; i < each; ++i)
                    if (Put put; put) mine += put.one(Kind::counter, put.name("n"), i, 0);
                kept += mine;
            });
        for (auto& t : all) t.join();
        stop();
        RawTrace raw;
        const TraceColumns trace = read(folder / "a", raw);
        const uint64_t dropped = number_in(raw.account, "dropped", "counter");
        const uint64_t overwritten = number_in(raw.account, "overwritten", "counter");
        CHECK(trace.counters.time.size() + dropped + overwritten == each * threads);
        CHECK(kept.load() + dropped == each * threads);
        CHECK(ring ? overwritten > 0 : overwritten == 0);
    }
}

TEST(a_stop_in_the_middle_loses_no_thing_in_half) {
    for (int round = 0; round < 20; ++round) {
        Folder folder;
        start({.path = folder / "a", .buffer_bytes = 4 << 20});
        std::atomic<bool> go{true};
        std::atomic<uint64_t> kept{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t)
            threads.emplace_back([&] {
                uint64_t mine = 0;
                std::string arguments = "{\"text\": \"" + std::string(200, 'x') + "\"}";
                const uint8_t* bytes = reinterpret_cast<const uint8_t*>(arguments.data());
                while (go.load(std::memory_order_relaxed))
                    if (Put put; put)
                        mine += put.with_payload(Kind::instant, put.name("i"), 0, 0, bytes, arguments.size());
                kept += mine;
            });
        while (!Put()) {
        }
        std::this_thread::yield();
        stop();
        go = false;
        for (auto& t : threads) t.join();
        RawTrace raw;
        const TraceColumns trace = read(folder / "a", raw);
        CHECK(trace.instants.time.size() == kept.load() && trace.damaged == 0);
    }
}

TEST(names_tracks_and_payloads_come_back) {
    Folder folder;
    start({.path = folder / "a"});
    record_span("gpu", "kernel", "kernel", 100, 250, "{\"a\": 1}", 0, {90, 5, 6, 7, "ok"});
    record_instant("", "i", "", "", 0, 123);
    record_counter("gpu", "c", 2.5, 77);
    record_edge("flow", "gpu", 10, "", 20, {1, 2, 3});
    note("{\"k\": 1}");
    stop();
    RawTrace raw;
    const TraceColumns t = read(folder / "a", raw);
    CHECK(raw.notes.size() == 1 && raw.notes[0] == "{\"k\": 1}");
    CHECK(t.spans.start[0] == 100 && t.spans.end[0] == 250 && t.spans.submit[0] == 90 && t.spans.cpu[0] == 5);
    CHECK(t.spans.work[0] == 6 && t.spans.correlation[0] == 7 && t.spans.arguments.bytes == "{\"a\": 1}");
    CHECK(t.texts[size_t(t.spans.name[0]) - 1] == "kernel" && t.texts[size_t(t.spans.outcome[0]) - 1] == "ok");
    CHECK(t.tracks[size_t(t.spans.track[0]) - 1] == "{\"kind\": \"other\", \"name\": \"gpu\"}");
    CHECK(t.instants.time[0] == 123 && t.counters.value[0] == 2.5 && t.counters.time[0] == 77);
    CHECK(t.edges.event[0] == 1 && t.edges.version[0] == 2 && t.edges.correlation[0] == 3);
}

TEST(a_name_that_does_not_fit_is_counted_and_the_thing_is_kept) {
    Folder folder;
    start({.path = folder / "a", .buffer_bytes = small});
    const std::string large(100 << 10, 'n');
    for (int i = 0; i < 5; ++i) record_instant("", large + std::to_string(i), "");
    stop();
    RawTrace raw;
    const TraceColumns t = read(folder / "a", raw);
    CHECK(t.instants.time.size() == 5);
    CHECK(raw.account.find("\"names_lost\": 3") != std::string::npos);
}

TEST(records_of_a_profiler_thread_are_no_progress) {
    Folder folder;
    start({.path = folder / "a", .buffer_bytes = small, .ring = true, .hang_ns = 100'000'000});
    for (uint64_t i = 0; i < 100'000; ++i) put_some(i);  // the whole ring is the program's
    std::atomic<bool> dumped{false};
    std::thread watcher([&] {
        is_profiler_thread = true;
        for (int64_t end = now_ns() + 60'000'000'000; !dumped && now_ns() < end;) {
            for (int i = 0; i < 100; ++i) put_some(0);  // and becomes the watcher's
            dumped = access((folder / "a-dump-1").c_str(), F_OK) == 0;
        }
    });
    watcher.join();
    CHECK(dumped);
    stop();
}

#ifndef __SANITIZE_THREAD__  // it allows no new thread after a fork

namespace {

// A thread allocates where it starts and frees where it ends. A fork at that moment leaves ASan's allocator locked in
// the child (glibc's is released): the two functions wait until no thread is there.
void wait_until_no_other_thread_is_left() {
    const std::filesystem::path threads = "/proc/self/task";
    while (std::distance(std::filesystem::directory_iterator(threads), {}) > 1) std::this_thread::yield();
}

void wait_until_the_drainer_has_run(const std::string& path) {
    RawTrace raw;
    do read(path, raw);
    while (raw.account.find("\"drainer_cpu_ns\": 0,") != std::string::npos);
    CHECK(raw.account.find("\"drainer_cpu_ns\": ") != std::string::npos);
}

// As a process that was killed in the middle of it does.
void leave_anchor_half_changed(const std::string& buffer) {
    const uint64_t seal_and_ticks[2] = {1, ~0ull};
    std::FILE* file = std::fopen(buffer.c_str(), "r+b");
    CHECK(file && !std::fseek(file, offsetof(BufferHeader, anchor_seal), SEEK_SET));
    CHECK(std::fwrite(seal_and_ticks, sizeof seal_and_ticks, 1, file) == 1 && !std::fclose(file));
}

}  // namespace

TEST(what_a_killed_process_left_is_read_and_recovered) {
    wait_until_no_other_thread_is_left();
    Folder folder;
    const pid_t child = fork();
    if (!child) {
        start({.path = folder / "a", .buffer_bytes = small});
        for (uint64_t i = 0; i < 100; ++i) put_some(i);
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    RawTrace raw;
    CHECK(read(folder / "a", raw).spans.start.size() == 100);
    CHECK(!raw.closed && !raw.buffer.empty());
    const std::string buffer = raw.buffer;
    leave_anchor_half_changed(buffer);
    read(folder / "a", raw);
    CHECK(!raw.anchors.empty());
    for (const ticks::Anchor& anchor : raw.anchors) CHECK(anchor.ticks != ~0ull);
    recorder::copy(folder / "a", folder / "b", "{\"n\": 1}");
    CHECK(access(buffer.c_str(), F_OK) == 0);
    recover(folder / "a");
    CHECK(access(buffer.c_str(), F_OK) != 0);
    for (const char* name : {"a", "b"}) {
        CHECK(read(folder / name, raw).spans.start.size() == 100);
        CHECK(raw.closed);
    }
    recover(folder / "a");
    CHECK(read(folder / "a", raw).counters.time.size() == 100);
}

TEST(a_thread_that_a_stop_gave_up_on_goes_on_putting_into_what_it_had) {
    Folder folder;
    start({.path = folder / "a", .buffer_bytes = small});
    std::atomic<bool> inside{false}, stopped{false};
    std::thread thread([&] {
        Put put;
        CHECK(put);
        inside = true;
        while (!stopped) std::this_thread::yield();
        put.name("after the stop");
        put.track("{}");
        for (uint32_t i = 0; i < 3 * chunk_entries; ++i) put.one(Kind::counter, 0, i, 0);
    });
    while (!inside) std::this_thread::yield();
    stop();
    start({.path = folder / "b", .buffer_bytes = small});
    stopped = true;
    thread.join();
    CHECK(put_some(1) == 3);
    stop();
    RawTrace raw;
    CHECK(read(folder / "b", raw).counters.time.size() == 1);
}

// A thread that was suspended while it attached, for longer than stop() waits, finds no session; or the next one.
TEST(a_thread_that_attaches_after_the_stop_puts_nothing) {
    Folder folder;
    const uint32_t ended = start({.path = folder / "a", .buffer_bytes = small});
    stop();
    on = ended;  // as that thread read it
    int kept = -1;
    std::thread([&] { kept = put_some(1); }).join();
    on = 0;
    CHECK(kept == 0);
    start({.path = folder / "b", .buffer_bytes = small});
    const uint32_t running = on.exchange(ended);
    std::thread([&] { kept = put_some(1); }).join();
    on = running;
    CHECK(kept == 0);
    stop();
    RawTrace raw;
    CHECK(read(folder / "b", raw).counters.time.empty());
}

TEST(a_forked_child_has_no_recording) {
    wait_until_no_other_thread_is_left();
    Folder folder;
    start({.path = folder / "a"});
    put_some(1);
    wait_until_the_drainer_has_run(folder / "a");
    const pid_t child = fork();
    if (!child) {
        bool good = !Put() && path().empty();
        start({.path = folder / "b"});
        good = good && put_some(2) == 3;
        stop();
        _exit(good ? 0 : 1);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    put_some(3);
    stop();
    RawTrace raw;
    CHECK(read(folder / "a", raw).spans.start.size() == 2);
    CHECK(read(folder / "b", raw).spans.start.size() == 1);
}

#endif

MAIN
