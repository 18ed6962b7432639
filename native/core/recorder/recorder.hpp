// The recorder: threads write entries into a buffer that outlives the process.
//
//   thread ── Put ──> its chunk ── full ──> sealed ── drainer ──> trace file
//                        ^                     │
//                        └────── free <────────┘      (ring: the oldest sealed chunk is reused)
//
// recorder.cpp has the threads' side, session.cpp the drainer's.
//
//   if (Put put; put) put.one(Kind::instant, put.name("spike"), 0, 0);
//
// Off costs one relaxed load. On, a put takes no lock, makes no system call and never waits: without a free chunk the
// record is dropped and counted. While a Put exists, its thread is `busy`, which is what stop() waits for.
//
//   member           guarded by
//   Lane::busy       written by its thread, read by stop()
//   Lane::taken      atomic: a thread uses it
//   Lane::generation written by its thread while busy, read by stop()
//   Lane::named      its thread; the next thread that uses the lane, when it attaches
//   the rest of it   its thread, while busy; stop() once no lane is
//   on               written under the lock of start and stop, read by any thread
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/ticks.hpp"
#include "tracefile/record.hpp"

namespace eventide::recorder {

using namespace tracefile;

class Session;

struct Lane {
    std::atomic<uint32_t> busy{0};
    Session* session = nullptr;           // that the rest belongs to; alive while the lane is busy
    std::atomic<uint32_t> generation{0};  // its number
    uint32_t named = 0;                   // the same, once the thread's own name has been written
    uint32_t attached = 0;                // how many threads of the recording had attached, this one included
    uint32_t used = 0;                    // entries in the chunk
    uint32_t limit = 0;                   // and its capacity; 0: there is no chunk
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
// This thread is a profiler's, not the program's: its chunks do not count as progress of the program.
inline thread_local constinit bool is_profiler_thread = false;
// Without the kernel's barrier on all threads (membarrier) each put has a fence of its own.
inline constinit std::atomic<bool> own_fences{false};

// For a Put where the thread's name is not available, as without the GIL: a later Put without this tag writes it.
struct WithoutThreadName {};

// One record, or several, of this thread.
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
    Put(uint32_t generation, WithoutThreadName) noexcept {
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

    // False: there was no space, and the dropped record was counted.
    bool one(Kind kind, uint32_t name, uint64_t a, uint64_t b) noexcept {
        Entry* e = reserve(1, kind);
        if (__builtin_expect(!e, false)) return false;
        *e = {ticks::now(), name, kind, 0, 0, a, b};
        publish(1);
        return true;
    }
    bool with_payload(Kind kind, uint32_t name, uint64_t a, uint64_t b, const uint8_t* payload, size_t size) noexcept {
        const uint32_t entries = entries_of(uint32_t(size));
        Entry* e = reserve(entries, kind);
        if (__builtin_expect(!e, false)) return false;
        *e = {ticks::now(), name, kind, 0, uint16_t(size), a, b};
        std::memcpy(e + 1, payload, size);
        publish(entries);
        return true;
    }
    void count_truncated(Kind kind) noexcept;

  private:
    void enter(Lane& lane, uint32_t generation) noexcept {
#ifdef __SANITIZE_THREAD__  // it supports neither fences nor the kernel's barrier
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
    Entry* reserve(uint32_t entries, Kind kind) noexcept {
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
    std::string about = "{}";          // JSON: more members for the head of the file
    int dump_signal = 0;               // this signal makes a copy beside the file; 0: none
    int64_t hang_ns = 0;               // so does a time without records of this length; 0: never
};

// The result of a recording.
struct Result {
    std::string buffer;       // path of the buffer, if it was kept: it has what could not be written
    std::string write_error;  // why
};

// Throws Error: usage, if one runs already; device, if there is no space or the file cannot be written.
uint32_t start(const Options& options);
// Waits until every thread has finished its Put and all records are in the file. Throws Error (usage) if none runs.
Result stop();
// Writes JSON into the file. Does nothing when no recording runs.
void note(std::string_view json);
// The path of the trace that is being recorded; empty: none.
std::string path();
// Writes all sealed chunks, and returns when they are in the file.
void flush();

// The name of this thread in the host language; empty: the system's name is used.
using ThreadName = std::string (*)();
inline constinit std::atomic<ThreadName> thread_name{nullptr};

void after_fork_in_child() noexcept;

}  // namespace eventide::recorder
