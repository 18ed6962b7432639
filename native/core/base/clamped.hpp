// Sums and products of times that come from a file: at the ends of the range they stay there instead of overflowing.
// The lowest value is left out, because it is the null of the columns.
#pragma once

#include <cmath>
#include <cstdint>

namespace eventide::clamped {

inline constexpr int64_t highest = INT64_MAX, lowest = -INT64_MAX;

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
// To the nearest; 0 for what is not a number.
inline int64_t round(double v) noexcept {
    if (std::isnan(v)) return 0;
    if (v >= 0x1p63) return highest;
    return v <= -0x1p63 ? lowest : std::llround(v);
}

}  // namespace eventide::clamped
