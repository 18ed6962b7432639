// Memory of a device. Freeing waits, without blocking anybody, for the streams that were recorded as its users.
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
    // Tells memory_deallocation and gives the memory back once the recorded streams have passed this point. Twice is
    // fine.
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
