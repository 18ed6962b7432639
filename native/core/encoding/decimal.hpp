// Decimal text to integers, without a double in between: 1712195495519689.047 us is 1712195495519689047 ns, exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace eventide {

// Nanoseconds and picoseconds, so that the sum of a start and a duration is rounded once.
struct FineTime {
    int64_t ns = 0;
    int32_t ps = 0;  // 0 to 999

    int64_t rounded() const { return ns + (ps >= 500); }
    FineTime operator+(const FineTime& o) const {
        const int32_t sum = ps + o.ps;
        return {ns + o.ns + sum / 1000, sum % 1000};
    }
};

constexpr int64_t MAX_TIME = int64_t(1) << 61;  // ns, 73 years; the sum of three fits 64 bits

// A JSON number of microseconds; digits below a picosecond are ignored. Empty if it is not a number or beyond MAX_TIME.
std::optional<FineTime> parse_microseconds(std::string_view text);

// A 64-bit integer, written as 12, 0x1f or 12.0; addresses beyond 2^63 wrap. Empty for anything else.
std::optional<int64_t> parse_integer(std::string_view text);

}  // namespace eventide
