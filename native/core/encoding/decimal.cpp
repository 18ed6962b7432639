#include "encoding/decimal.hpp"

#include <charconv>

namespace eventide {
namespace {

constexpr unsigned __int128 digits_limit =
    (unsigned __int128)(1'000'000'000'000'000'000) * 100'000'000'000'000'000;  // 10^35

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// A decimal number as digits * 10^exponent. Digits beyond 120 bits only change the exponent.
struct Decimal {
    bool negative = false;
    unsigned __int128 digits = 0;
    int64_t exponent = 0;
};

bool parse_decimal(std::string_view text, Decimal& out) {
    size_t i = 0;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) out.negative = text[i++] == '-';
    size_t count = 0;
    bool fraction = false;
    uint64_t first_18 = 0;  // in most numbers these are all digits
    for (; i < text.size(); ++i) {
        if (text[i] == '.' && !fraction) {
            fraction = true;
        } else if (is_digit(text[i])) {
            if (++count <= 18) {
                first_18 = first_18 * 10 + uint64_t(text[i] - '0');
                out.digits = first_18;
            } else if (out.digits < digits_limit) {
                out.digits = out.digits * 10 + uint64_t(text[i] - '0');
            } else {
                out.exponent += !fraction;
                continue;
            }
            out.exponent -= fraction;
        } else {
            break;
        }
    }
    if (!count) return false;
    if (i == text.size()) return true;
    if (text[i] != 'e' && text[i] != 'E') return false;
    if (++i < text.size() && text[i] == '+') ++i;
    int64_t exponent = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), exponent);
    if (end != text.data() + text.size()) return false;
    if (error == std::errc::result_out_of_range || exponent > 100000 || exponent < -100000)
        exponent = i < text.size() && text[i] == '-' ? -100000 : 100000;
    out.exponent += exponent;
    return true;
}

std::string_view trim(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

}  // namespace

std::optional<FineTime> parse_microseconds(std::string_view text) {
    Decimal number;
    if (!parse_decimal(trim(text), number)) return std::nullopt;
    if (number.digits < 1'000'000'000'000'000'000u && number.exponent >= -3 &&
        number.exponent <= 0) {  // the common case
        constexpr int64_t scale[] = {1, 10, 100, 1000};
        int64_t ns;
        if (__builtin_mul_overflow(int64_t(number.digits), scale[number.exponent + 3], &ns) || ns > MAX_TIME)
            return std::nullopt;
        return FineTime{number.negative ? -ns : ns, 0};
    }
    unsigned __int128 ps = number.digits;
    int64_t exponent = number.exponent + 6;  // a microsecond is a million picoseconds
    for (; exponent < 0 && ps; ++exponent) ps /= 10;
    const unsigned __int128 limit = (unsigned __int128)(MAX_TIME) * 1000;
    if (ps > limit) return std::nullopt;
    for (; exponent > 0 && ps; --exponent) {
        ps *= 10;
        if (ps > limit) return std::nullopt;
    }
    if (ps > limit) return std::nullopt;
    FineTime out{int64_t(ps / 1000), int32_t(ps % 1000)};
    if (number.negative) {
        out.ns = -out.ns - (out.ps ? 1 : 0);
        out.ps = out.ps ? 1000 - out.ps : 0;
    }
    return out;
}

std::optional<int64_t> parse_integer(std::string_view text) {
    text = trim(text);
    if (text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == 'x') {
        uint64_t value;
        const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
        if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
        return int64_t(value);
    }
    Decimal number;
    if (!parse_decimal(text, number)) return std::nullopt;
    for (; number.exponent < 0 && number.digits % 10 == 0 && number.digits; ++number.exponent) number.digits /= 10;
    if (!number.digits) return 0;
    if (number.exponent < 0 || number.exponent > 19) return std::nullopt;
    unsigned __int128 value = number.digits;
    for (int64_t i = 0; i < number.exponent && value <= UINT64_MAX; ++i) value *= 10;
    if (value > (number.negative ? (unsigned __int128)(1) << 63 : (unsigned __int128)(UINT64_MAX))) return std::nullopt;
    return int64_t(number.negative ? -uint64_t(value) : uint64_t(value));
}

}  // namespace eventide
