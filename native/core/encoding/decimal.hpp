// Decimal text to integers, without a double in between: 1712195495519689.047 us is 1712195495519689047 ns, exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace eventide {

// Nanoseconds with what lies below them, so that a start and a duration are rounded once, as their sum.
struct FineTime {
    int64_t ns = 0;
    int32_t ps = 0;  // 0 to 999

    int64_t rounded() const { return ns + (ps >= 500); }
    FineTime operator+(const FineTime& o) const {
        const int32_t sum = ps + o.ps;
        return {ns + o.ns + sum / 1000, sum % 1000};
    }
};

constexpr int64_t MAX_TIME = int64_t(1) << 61;  // ns, 73 years either way of 0; three of them still fit 64 bits

// Microseconds as JSON writes a number; digits below a picosecond do not count. Nothing where it is no number or is
// beyond MAX_TIME.
std::optional<FineTime> parse_microseconds(std::string_view text);

// An integer of 64 bits, also as "12", "0x1f" or 12.0; addresses beyond 2^63 wrap. Nothing for anything else.
std::optional<int64_t> parse_integer(std::string_view text);

}  // namespace eventide
