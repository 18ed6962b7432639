// Appending frames to a trace file: each is whole, or not there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tracefile/record.hpp"

namespace eventide::recorder {

// One frame as bytes, appended to `out`.
void frame(FrameType type, std::string_view payload, std::string& out);

class TraceFile {
  public:
    TraceFile() = default;
    // Makes the file anew, with magic and version. Throws Error (device) with the reason and the remedy.
    explicit TraceFile(const std::string& path);
    TraceFile(TraceFile&& other) noexcept;
    TraceFile& operator=(TraceFile&& other) noexcept;
    ~TraceFile();

    // 0, or the error: then the file is as it was.
    int append(std::string_view bytes) noexcept;
    int sync() noexcept;
    uint64_t size() const noexcept { return size_; }
    void close() noexcept;

  private:
    int fd_ = -1;
    uint64_t size_ = 0;
};

}  // namespace eventide::recorder
