// The bytes of a trace file and of the buffer of its process. The recording is closed, still running, or its process
// was killed.
//
// The buffer is copied before the file is read: a chunk that is drained meanwhile is then in the file, and a chunk in
// both is used once, by its serial.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/ticks.hpp"
#include "tracefile/record.hpp"

namespace eventide::tracefile {

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
    std::vector<std::string_view> chunks;      // payloads of frames; they point into `bytes`
    std::string names;                         // all of them, as in the buffer
    std::vector<ticks::Anchor> anchors;        // in order of time
    std::string head;                          // JSON
    std::vector<std::string> notes;            // JSON
    std::string account;                       // JSON; of a recording that is not closed: from the buffer, or empty
    std::string buffer;                        // path of the buffer of this file, or empty
    uint64_t good = 0;                         // bytes of the file up to the end of its last valid frame
    uint64_t without_end = 0;                  // the same without the last frame, if that is the end
    uint64_t names_in_file = 0;
    bool closed = false;
};

// Throws FormatError if it is not a trace file or has another version, std::system_error if it cannot be read.
RawTrace load(const std::string& path);

// Closes the file of a killed process: appends the content of the buffer and removes the buffer. Does nothing to a
// closed file. Throws as load(), and Error (usage) while the process is alive.
void recover(const std::string& path);

// Writes a closed copy of everything recorded so far, also during the recording. `note`: JSON to store in the copy.
void copy(const std::string& path, const std::string& to, const std::string& note);

// The account of a buffer as JSON.
std::string account_of(const BufferHeader& header, const LaneRecord* lanes, uint32_t count);

}  // namespace eventide::tracefile
