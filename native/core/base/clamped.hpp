// Arithmetic on times that come from a file: results are clamped to the range instead of overflowing. The lowest int64
// is never a result, because it is the null of the columns.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/null_int64.hpp"

namespace eventide::clamped {

inline constexpr int64_t highest = INT64_MAX, lowest = -INT64_MAX;
static_assert(lowest > null_int64);

constexpr int64_t add(int64_t a, int64_t b) noexcept {
    int64_t out = 0;
    if (__builtin_add_overflow(a, b, &out)) return a < 0 ? lowest : highest;
    return out < lowest ? lowest : out;
}
constexpr int64_t subtract(int64_t a, int64_t b) noexcept {
    int64_t out = 0;
    if (__builtin_sub_overflow(a, b, &out)) return a < 0 ? lowest : highest;
    return out < lowest ? lowest : out;
}
constexpr int64_t multiply(int64_t a, int64_t b) noexcept {
    int64_t out = 0;
    if (__builtin_mul_overflow(a, b, &out)) return (a < 0) == (b < 0) ? highest : lowest;
    return out < lowest ? lowest : out;
}
// To the nearest integer; NaN gives 0.
inline int64_t round(double v) noexcept {
    if (std::isnan(v)) return 0;
    if (v >= 0x1p63) return highest;
    return v <= -0x1p63 ? lowest : std::llround(v);
}

}  // namespace eventide::clamped
