// Translates hook records into calls of the sanitizer's engine, live and offline.
#pragma once

#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "hooks/hub.hpp"
#include "sanitizer/engine.hpp"

namespace eventide::sanitizer {

// Not thread-safe, as the engine.
class Feed {
  public:
    explicit Feed(Engine& engine) : engine_(engine) {}

    // `stack`: any number of a place in the code, 0: unknown. `thread`: any number, for one thread's life.
    void on_hook(const HookRecord& record, uint64_t thread, uint32_t stack);

    // The engine's number of a device; none: 0.
    static uint64_t device_number(DeviceId device) noexcept {
        return device.type < 0 ? 0 : (uint64_t(uint16_t(device.type)) << 16 | uint16_t(device.index)) + 1;
    }

  private:
    void submitted(const At& at, const HookRecord& r);
    uint64_t inside(uint64_t thread) const;
    void entered(const At& at, const HookRecord& r);
    void left(uint64_t thread, const HookRecord& r);
    void created(const HookRecord& r);
    void going(uint64_t stream);
    void gone(const At& at, uint64_t stream);
    void synchronized(const At& at, const HookRecord& r);
    void observed_complete(const At& at, const HookRecord& r);

    // Of a device whose default stream blocks.
    struct Blocking {
        uint64_t stream = no_stream;  // the default stream; no_stream: there is none yet
        std::vector<uint64_t> members;
    };

    Engine& engine_;
    std::unordered_set<uint64_t> met_;                            // streams whose device is known
    std::unordered_map<uint64_t, Blocking> blocking_;             // by number of the device
    std::unordered_map<uint64_t, std::vector<uint64_t>> inside_;  // streams whose work each thread runs, innermost last
    std::unordered_set<uint64_t> marked_;                         // handles of synchronizations that have begun
    std::unordered_set<uint64_t> closing_;                        // streams whose deletion is pending
    std::deque<uint64_t> going_;                                  // the same in order
};

}  // namespace eventide::sanitizer
