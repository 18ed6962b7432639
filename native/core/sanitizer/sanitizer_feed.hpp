// From what the hooks say to the sanitizer's engine: the one place where records become its verbs, live and offline.
#pragma once

#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "hooks/hub.hpp"
#include "sanitizer/sanitizer.hpp"

namespace eventide::sanitizer {

// Not safe for several threads, as the engine.
class Feed {
  public:
    explicit Feed(Engine& engine) : engine_(engine) {}

    // `stack`: any number of a place in the code, 0: unknown. `thread`: any number, for one thread's life.
    void heard(const HookRecord& record, uint64_t thread, uint32_t stack);

    // The engine's number of a device; none: 0.
    static uint64_t device_number(DeviceId device) noexcept {
        return device.type < 0 ? 0 : (uint64_t(uint16_t(device.type)) << 16 | uint16_t(device.index)) + 1;
    }

  private:
    void submitted(const At& at, const HookRecord& r);
    void created(const HookRecord& r);
    void going(uint64_t stream);
    void gone(const At& at, uint64_t stream);
    void synchronized(const At& at, const HookRecord& r);
    void learnt(const At& at, const HookRecord& r);

    // Of a device whose default stream blocks.
    struct Blocking {
        uint64_t stream = no_stream;  // the default stream; no_stream: there is none yet
        std::vector<uint64_t> members;
    };

    Engine& engine_;
    std::unordered_set<uint64_t> met_;                 // streams whose device is known
    std::unordered_map<uint64_t, Blocking> blocking_;  // by number of the device
    std::unordered_set<uint64_t> marked_;              // handles of synchronizations that have begun
    std::unordered_set<uint64_t> closing_;             // streams that are about to go
    std::deque<uint64_t> going_;                       // the same in order
    std::vector<Range> reads_, writes_;                // kept for their memory
};

}  // namespace eventide::sanitizer
