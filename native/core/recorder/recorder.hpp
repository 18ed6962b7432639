// The recorder: what happens on any thread becomes entries in a buffer that outlives the process.
//
//   thread ── Put ──> its chunk ── full ──> sealed ── drainer ──> trace file      recorder.cpp, session.hpp,
//   drainer.cpp
//                        ^                     │
//                        └────── free <────────┘                                  (ring: the oldest sealed one is
//                        reused)
//
//   if (Put put; put) put.one(Kind::instant, put.name("spike"), 0, 0);
//
// Off costs one relaxed load. On, a put takes no lock, makes no system call and never waits: without a free chunk the
// thing is dropped and counted. While a Put lives, its thread is `busy`, which is what stop() waits for.
//
//   Lane::busy       written by its thread, read by stop()
//   Lane::taken      atomic: a thread has it
//   Lane::generation written by its thread while busy, read by stop()
//   Lane::named      its thread; the next thread that has the lane, when it attaches
//   the rest of it   its thread, while busy; stop() once nobody is
//   on               written under the lock of start and stop, read by anybody
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/ticks.hpp"
#include "tracefile/record.hpp"

namespace eventide::recorder {

class Session;

struct Lane {
    std::atomic<uint32_t> busy{0};
    Session* session = nullptr;           // that the rest belongs to; alive while the lane is busy
    std::atomic<uint32_t> generation{0};  // its number
    uint32_t named = 0;                   // the same, once the thread's name has been asked for
    uint32_t attached = 0;                // how many threads had come to the recording with this one
    uint32_t used = 0;                    // entries in the chunk
    uint32_t limit = 0;                   // and how many it takes; 0: there is no chunk
    Chunk* chunk = nullptr;
    uint32_t chunk_index = 0;
    uint32_t spans = 0;  // number of the last span
    uint32_t track = 0;
    uint32_t index = 0;  // of the lane record, if index_generation is that of the recording
    uint32_t index_generation = 0;
    LaneRecord* record = nullptr;
    std::atomic<bool> taken{true};
    Lane* next = nullptr;  // lanes are never freed
};

// The number of the recording that runs, from 1; 0: none.
inline constinit std::atomic<uint32_t> on{0};
inline constinit std::atomic<bool> captures_stacks{false};
inline thread_local constinit Lane* this_lane = nullptr;
// A thread of ours that watches the program: what it records is not taken for a sign that the program goes on.
inline thread_local constinit bool looks_on = false;
// Where the kernel has no barrier that it can run on all threads, each put pays for one.
inline constinit std::atomic<bool> own_fences{false};

// Where the thread's name cannot be asked for, as without the GIL: it is told with the next Put that is not like that.
struct Nameless {};

// One thing to be recorded by this thread.
class Put {
  public:
    Put() noexcept : Put(on.load(std::memory_order_relaxed)) {}
    // Names and spans belong to one recording: nothing is put into another.
    explicit Put(uint32_t generation) noexcept {
        Lane* lane = this_lane;
        if (__builtin_expect(!lane || lane->named != generation, false))
            attach(generation, true);
        else
            enter(*lane, generation);
    }
    Put(uint32_t generation, Nameless) noexcept {
        Lane* lane = this_lane;
        if (__builtin_expect(!lane || lane->generation.load(std::memory_order_relaxed) != generation, false))
            attach(generation, false);
        else
            enter(*lane, generation);
    }
    ~Put() {
        if (lane_) lane_->busy.store(0, std::memory_order_release);
    }
    Put(const Put&) = delete;
    Put& operator=(const Put&) = delete;
    explicit operator bool() const noexcept { return lane_ != nullptr; }

    Lane& lane() const noexcept { return *lane_; }
    // Numbers of this recording, for names, categories and tracks. A track is described by JSON, see record.hpp.
    uint32_t name(std::string_view text) const;
    uint32_t track(std::string_view json) const;
    uint32_t stack(uint32_t id) const;

    // False: there was no room, and that has been counted.
    bool one(Kind kind, uint32_t name, uint64_t a, uint64_t b) noexcept {
        Entry* e = room(1, kind);
        if (__builtin_expect(!e, false)) return false;
        *e = {ticks::now(), name, kind, 0, 0, a, b};
        publish(1);
        return true;
    }
    bool with_payload(Kind kind, uint32_t name, uint64_t a, uint64_t b, const uint8_t* payload, size_t size) noexcept {
        const uint32_t entries = entries_of(uint32_t(size));
        Entry* e = room(entries, kind);
        if (__builtin_expect(!e, false)) return false;
        *e = {ticks::now(), name, kind, 0, uint16_t(size), a, b};
        std::memcpy(e + 1, payload, size);
        publish(entries);
        return true;
    }
    void count_truncated(Kind kind) noexcept;

  private:
    void enter(Lane& lane, uint32_t generation) noexcept {
#ifdef __SANITIZE_THREAD__  // it knows neither fences nor the kernel's barrier
        lane.busy.exchange(1, std::memory_order_seq_cst);
        const uint32_t running = on.load(std::memory_order_seq_cst);
#else
        lane.busy.store(1, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (__builtin_expect(own_fences.load(std::memory_order_relaxed), false))
            std::atomic_thread_fence(std::memory_order_seq_cst);
        const uint32_t running = on.load(std::memory_order_relaxed);
#endif
        if (__builtin_expect(running == generation && generation, true))
            lane_ = &lane;
        else
            lane.busy.store(0, std::memory_order_release);
    }
    void attach(uint32_t generation, bool named) noexcept;
    Entry* room(uint32_t entries, Kind kind) noexcept {
        Lane& l = *lane_;
        if (__builtin_expect(l.used + entries > l.limit, false) && !next_chunk(kind)) return nullptr;
        return &l.chunk->entries[l.used];
    }
    bool next_chunk(Kind kind) noexcept;
    void publish(uint32_t entries) noexcept {
        Lane& l = *lane_;
        l.used += entries;
        l.chunk->used.store(l.used, std::memory_order_release);
    }

    Lane* lane_ = nullptr;
};

struct Options {
    std::string path;                  // of the trace file
    uint64_t buffer_bytes = 32 << 20;  // names and chunks together
    bool ring = false;                 // keep the newest only
    bool durable = false;              // the buffer beside the file, on disk
    bool stacks = false;               // with every span and hook
    std::string about = "{}";          // JSON: what else the head of the file should say
    int dump_signal = 0;               // makes a copy beside the file and goes on; 0: none
    int64_t hang_ns = 0;               // so does nothing being recorded for so long; 0: never
};

// What became of a recording.
struct Result {
    std::string buffer;       // path of the buffer, if it had to stay: what could not be written is there
    std::string write_error;  // why
};

// Throws Error: usage, if one runs already; device, if there is no room or the file cannot be written.
uint32_t start(const Options& options);
// Waits until every thread has put what it was putting and all of it is in the file. Throws Error (usage) if none runs.
Result stop();
// JSON, kept in the file. Nothing happens when none runs.
void note(std::string_view json);
// The path of the trace that is being recorded; empty: none.
std::string path();
// Asks the drainer to write what is sealed now, and waits until it has.
void flush();

// What people call this thread; the bindings know better than the system.
using ThreadName = std::string (*)();
inline constinit std::atomic<ThreadName> thread_name{nullptr};

void after_fork_in_child() noexcept;

}  // namespace eventide::recorder
