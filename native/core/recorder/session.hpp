// One recording: its buffer, its names, its chunks, the thread that drains them, and dumps.
//
//   member             guarded by
//
//   free_, sealed_     lock-free queues of chunk numbers
//   serials_           atomic
//   file_, pending_, next_anchor_, out_   the drainer, under drain_
//   wake_              futex word of the drainer; ending_ is set before the last wake
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "base/index_queue.hpp"
#include "recorder/buffer.hpp"
#include "recorder/names.hpp"
#include "recorder/recorder.hpp"
#include "tracefile/trace_file.hpp"

namespace eventide::recorder {

using namespace tracefile;

class Session {
  public:
    Session(const Options& options, uint32_t generation);

    struct Id {
        Id();
        uint8_t bytes[16];
    };
    const Options options;
    const uint32_t generation;
    const Id id;
    Buffer buffer;
    Names names;
    std::atomic<uint64_t> attached{0};  // threads so far

    // A chunk ready to be filled by a thread with that track, or nullptr: then the record is dropped.
    Chunk* take_chunk(uint32_t track, bool is_profiler_thread, uint32_t& index) noexcept;
    void seal(uint32_t index) noexcept;
    // The number of a new lane record; most_lanes: there is none left.
    uint32_t take_lane() noexcept;

    void start_drainer();
    // Writes sealed chunks. 0 or the error of the write; chunks that were not written stay pending.
    int drain();
    void anchor();
    // The last calls: ends the drainer, then writes the rest, with the counts of lost records.
    void end_drainer() noexcept;
    Result finish();
    int note(std::string_view json);
    // The handler of the signal that requests a dump, from start to stop. Throws Error (value) for an invalid signal.
    void install_dump_signal();
    // False: another handler had replaced it.
    bool restore_dump_signal() noexcept;
    void report_replaced_signal() const;
    // After fork: neither file nor buffer is the child's.
    void abandon_in_child() noexcept;

  private:
    static void* main(void* self);
    void loop();
    int write_locked(std::string_view bytes) noexcept;
    int keep_error(int error) noexcept;
    int drain_locked();
    void add_names_locked();
    void anchor_locked(bool last);
    void count_overwritten(const Chunk& chunk) noexcept;
    void watch();
    void dump(const std::string& why);
    bool program_progressed() noexcept;
    std::string head() const;

    IndexQueue free_;
    IndexQueue sealed_;
    std::atomic<uint64_t> serials_{0};

    std::mutex drain_;
    TraceFile file_;
    std::vector<uint32_t> pending_;  // sealed and not yet written
    std::string out_;
    uint64_t names_written_ = 0;
    int64_t next_anchor_ns_ = 0;
    int64_t anchor_step_ns_ = 100'000'000;

    // The state of `watch`; used by the drainer only.
    std::vector<uint64_t> seen_;  // of each chunk: its serial and fill level at the last check
    int64_t progress_ns_ = 0;
    uint32_t dumps_handled_ = 0;
    int dumps_ = 0;
    bool hangs_ = false;

    std::atomic<uint32_t> wake_{0};
    std::atomic<bool> ending_{false};
    std::atomic<uint32_t> ended_{1};  // futex word: the drainer is not running
    double put_ns_ = 0;               // the cost of one entry, measured at the start
};

}  // namespace eventide::recorder
