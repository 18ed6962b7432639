// The mapped file that contains the records until they are drained.
#pragma once

#include <string>

#include "tracefile/record.hpp"

namespace eventide::recorder {

using namespace tracefile;

class Buffer {
  public:
    // Makes and fills in a file of that size, all of it allocated, so that no store fails on a full disk. In shared
    // memory, or if that has no space (or `durable`), beside the trace. Throws Error (device) if neither has space.
    // The file is locked as long as its mapping exists, which the child of a fork has not: a file without a lock belongs
    // to a dead process.
    static Buffer make(const std::string& trace, uint64_t bytes, bool durable, bool ring, const uint8_t (&session)[16]);
    Buffer() = default;
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    ~Buffer();

    BufferHeader& header() const noexcept { return *reinterpret_cast<BufferHeader*>(data_); }
    LaneRecord& lane(uint32_t i) const noexcept {
        return reinterpret_cast<LaneRecord*>(data_ + header().lanes_offset)[i];
    }
    char* names() const noexcept { return data_ + header().names_offset; }
    Chunk& chunk(uint32_t i) const noexcept { return reinterpret_cast<Chunk*>(data_ + header().chunks_offset)[i]; }
    const std::string& path() const noexcept { return path_; }
    // Removes the file; the mapping stays.
    void unlink() noexcept;
    // In the child of a fork, where something else may be at its addresses.
    void forget() noexcept { data_ = nullptr; }

  private:
    char* data_ = nullptr;
    uint64_t bytes_ = 0;
    std::string path_;
};

// Frees the memory of a buffer on a thread of its own: that takes the kernel 0.2 ms for each MB. Where no thread can be
// started, before it returns.
void free_in_background(Buffer&& buffer);

// Identifies the root directory of this process: it differs between containers and chroots that share /dev/shm.
std::string root_id();

inline constexpr uint64_t smallest_buffer = 1 << 20;

}  // namespace eventide::recorder
