// The null of every column of 64-bit integers: times, durations, ids. clamped.hpp never returns it.
#pragma once

#include <cstdint>
#include <limits>

namespace eventide {

inline constexpr int64_t null_int64 = std::numeric_limits<int64_t>::min();

}  // namespace eventide
