// A trace file as it lies on disk, with what its process left in the buffer: closed, still being written, or killed.
//
// The buffer is copied before the file is read: a chunk that was drained meanwhile is then in the file, and one that is
// in both counts once, by its serial.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/ticks.hpp"
#include "tracefile/record.hpp"

namespace eventide::recorder {

class FormatError : public std::runtime_error {
  public:
    FormatError(const std::string& message, uint64_t offset) : std::runtime_error(message), offset(offset) {}
    const uint64_t offset;
};

struct RawTrace {
    RawTrace() = default;
    RawTrace(RawTrace&&) = default;  // never copied: `chunks` point into `bytes`
    RawTrace& operator=(RawTrace&&) = default;

    std::string bytes;                         // the file
    std::vector<std::unique_ptr<Chunk>> left;  // chunks that are only in the buffer, by serial
    std::vector<std::string_view> chunks;      // payloads of frames, in bytes
    std::string names;                         // all of them, as in the buffer
    std::vector<ticks::Anchor> anchors;        // in order of time
    std::string head;                          // JSON
    std::vector<std::string> notes;            // JSON
    std::string account;                       // JSON; of a recording that was not closed: from the buffer, or empty
    std::string buffer;                        // path of the buffer, if there is one that belongs to this file
    uint64_t good = 0;                         // bytes of the file that hold whole frames
    uint64_t without_end = 0;                  // the same without the last frame, if that is the end
    uint64_t names_in_file = 0;
    bool closed = false;
};

// Throws FormatError when it is not a trace file or of another version, std::system_error when it cannot be read.
RawTrace load(const std::string& path);

// Closes the file of a process that was killed: what is in the buffer goes into the file, the buffer is removed.
// Nothing happens to a file that is closed. Throws as load does, and Error (usage) while the process lives.
void recover(const std::string& path);

// Writes a closed copy of all there is so far, also while it is being recorded. `note`: JSON to keep with it.
void copy(const std::string& path, const std::string& to, const std::string& note);

// The account of a buffer as JSON.
std::string account_of(const BufferHeader& header, const LaneRecord* lanes, uint32_t count);

}  // namespace eventide::recorder
