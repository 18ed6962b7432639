// The state of the process: how often it was forked, and whether it is about to exit. See runtime/life_cycle.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace eventide::process {

// Counts forks. An object remembers the generation it was made in; one of an older generation belongs to the parent
// and has no worker here.
inline constinit std::atomic<uint32_t> generation{0};

// Set once workers have been given up at interpreter exit: from then on they must never ask for the host lock again.
inline constinit std::atomic<bool> abandoned{false};

inline bool is_current(uint32_t made_in) noexcept {
    return made_in == generation.load(std::memory_order_relaxed);
}

// "stream 3 was made before fork in the parent process; make a new one in this process"
std::string before_fork(const std::string& what);

}  // namespace eventide::process
