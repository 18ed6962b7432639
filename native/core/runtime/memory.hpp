// Memory of a device. It is freed when the streams recorded as its users have passed; the caller does not block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/mutex.hpp"
#include "base/ref.hpp"
#include "hooks/hub.hpp"

namespace eventide {

class Stream;

class Memory final : public RefCounted {
  public:
    // Throws std::bad_alloc.
    static Ref<Memory> allocate(DeviceId device, size_t bytes);
    ~Memory() override;

    const DeviceId device;
    void* const data;
    const size_t bytes;
    const bool host_visible;

    void record_stream(Stream& stream);
    // Fires memory_deallocation, and frees the memory once the recorded streams have passed this point. Idempotent.
    void free() { free(""); }
    bool freed() const;

  private:
    void free(std::string_view how);
    Memory(DeviceId device, void* data, size_t bytes, bool host_visible)
        : device(device), data(data), bytes(bytes), host_visible(host_visible) {}

    mutable Mutex m_;
    std::vector<Ref<Stream>> users_;
    bool freed_ = false;
};

}  // namespace eventide
