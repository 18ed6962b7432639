#include "runtime/memory.hpp"

#include <new>
#include <string>

#include "base/process.hpp"
#include "runtime/device.hpp"
#include "runtime/stream.hpp"

namespace eventide {
namespace {

// The block itself, freed when the last stream that uses it has passed.
class Block final : public RefCounted {
  public:
    Block(DeviceId device, void* data, size_t bytes) : device_(device), data_(data), bytes_(bytes) {}
    ~Block() override { devices::at(device_.type).free(device_.index, data_, bytes_); }

  private:
    const DeviceId device_;
    void* const data_;
    const size_t bytes_;
};

class OutOfMemory final : public std::bad_alloc {
  public:
    OutOfMemory(size_t bytes, DeviceId device)
        : text_("cannot allocate " + std::to_string(bytes) + " bytes on " + devices::name(device)) {}
    const char* what() const noexcept override { return text_.c_str(); }

  private:
    const std::string text_;
};

class Hold final : public Task {
  public:
    // Memory of a polled device is freed by the device.
    Hold(Ref<Block> block, DeviceId device)
        : block_(std::move(block)), type_(devices::at(device.type).polled() ? device.type : int16_t(-1)) {}
    void run() override { block_ = {}; }
    bool needs_host_lock() const override { return false; }
    int16_t device_type() const override { return type_; }

  private:
    Ref<Block> block_;
    const int16_t type_;
};

}  // namespace

Ref<Memory> Memory::allocate(DeviceId device, size_t bytes) {
    Device& where = devices::at(device.type);
    void* data = where.allocate(device.index, bytes ? bytes : 1);
    if (!data) throw OutOfMemory(bytes, device);
    Ref<Memory> memory(new Memory(device, data, bytes, where.capabilities(device.index).host_visible));
    if (hub::listening(Hook::memory_allocation)) {
        HookRecord r{.hook = Hook::memory_allocation, .device = device, .handle = uint64_t(data), .bytes = bytes};
        hub::fire(r);
    }
    return memory;
}

// On deferred devices work holds references to its arguments until it ran, so the last reference is dropped after all
// work that had one.
Memory::~Memory() {
    if (freed_) return;
    const bool held =
        hub::listening(Hook::memory_deallocation) && devices::at(device.type).capabilities(device.index).deferred;
    free(held ? "dropped" : "");
}

void Memory::record_stream(Stream& stream) {
    stream.check_usable();
    {
        std::lock_guard lock(m_);
        bool known = false;
        for (auto& s : users_) known |= s.get() == &stream;
        if (!known) users_.push_back(Ref<Stream>(&stream));
    }
    if (hub::listening(Hook::memory_use)) {
        HookRecord r{
            .hook = Hook::memory_use, .device = device, .stream = stream.id, .handle = uint64_t(data), .bytes = bytes};
        hub::fire(r);
    }
}

void Memory::free(std::string_view how) {
    std::vector<Ref<Stream>> users;
    {
        std::lock_guard lock(m_);
        if (freed_) return;
        freed_ = true;
        users.swap(users_);
    }
    if (hub::listening(Hook::memory_deallocation)) {
        HookRecord r{.hook = Hook::memory_deallocation, .device = device, .handle = uint64_t(data), .bytes = bytes};
        r.name = how;
        hub::fire(r);
    }
    Ref<Block> block(new Block(device, data, bytes));
    for (auto& stream : users) {
        if (!process::is_current(stream->generation)) continue;
        Ref<Marker> marker;
        try {
            marker = stream->mark_end();
        } catch (const Error&) {
            // A device that cannot make a marker no longer uses the memory.
        }
        auto* hold = new Hold(block, device);
        if (!marker || !marker->when_ended(hold)) delete hold;
    }
}

bool Memory::freed() const {
    std::lock_guard lock(m_);
    return freed_;
}

}  // namespace eventide
