// The state of the process: how often it was forked, and whether it is about to exit. See runtime/life_cycle.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace eventide::process {

// Counts forks. An object stores the generation in which it was created; one of an older generation belongs to the
// parent process and has no worker here.
inline constinit std::atomic<uint32_t> generation{0};

// Set when workers are abandoned at interpreter exit: from then on they must not take the host lock again.
inline constinit std::atomic<bool> abandoned{false};

inline bool is_current(uint32_t made_in) noexcept {
    return made_in == generation.load(std::memory_order_relaxed);
}

// The error message for using such an object: "stream 3 was made before fork, ...; make a new one in this process".
inline std::string before_fork(const std::string& what) {
    return what +
           " was made before fork, in the parent process, and has no worker here; make a new one in this process";
}

}  // namespace eventide::process
