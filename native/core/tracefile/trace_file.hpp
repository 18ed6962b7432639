// Appends frames to a trace file. A frame that cannot be written completely is removed again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tracefile/record.hpp"

namespace eventide::tracefile {

// Appends one frame to `out`.
void frame(FrameType type, std::string_view payload, std::string& out);

class TraceFile {
  public:
    TraceFile() = default;
    // Creates or truncates the file and writes magic and version. Throws std::system_error.
    explicit TraceFile(const std::string& path);
    TraceFile(TraceFile&& other) noexcept;
    TraceFile& operator=(TraceFile&& other) noexcept;
    ~TraceFile();

    // 0, or errno; then the file is unchanged.
    int append(std::string_view bytes) noexcept;
    int sync() noexcept;
    uint64_t size() const noexcept { return size_; }
    void close() noexcept;

  private:
    int fd_ = -1;
    uint64_t size_ = 0;
};

}  // namespace eventide::tracefile
