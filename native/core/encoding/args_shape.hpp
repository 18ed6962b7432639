// Recognizes arguments that repeat. Events of one name have the same arguments in the same order, and most values are
// integers: the text between the integers is compared at once instead of being parsed again.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace eventide::json {

class ArgsShape {
  public:
    // Replaces the shape by that of a flat object of integers. False, and no shape, where the text is anything else,
    // has a name with an escape or our own name ("eventide"), or where too many shapes in a row were never matched.
    bool assign(std::string_view object);
    // Whether the text differs from the assigned one in its integers only; it is then such an object as well. Calls
    // `each(index, bits)` for each integer, also for the first ones of a text that does not match.
    template <class F>
    bool match(std::string_view object, F each) {
        const char *at = object.data(), *const end = at + object.size(), *piece = text_.data();
        for (size_t i = 0; i < sizes_.size(); ++i) {
            if (size_t(end - at) < sizes_[i] || std::memcmp(at, piece, sizes_[i]) != 0) return false;
            at += sizes_[i];
            piece += sizes_[i];
            if (i + 1 == sizes_.size()) break;
            uint64_t bits;
            if (!read_integer(at, end, bits)) return false;
            each(i, bits);
        }
        if (at != end || sizes_.empty()) return false;
        unmatched_ = 0;
        return true;
    }
    // The names, in order.
    const std::vector<std::string>& names() const { return names_; }

  private:
    // Moves `at` behind an integer of at most 18 digits in JSON's syntax.
    static bool read_integer(const char*& at, const char* end, uint64_t& bits) {
        const bool negative = at < end && *at == '-';
        at += negative;
        const char* const begin = at;
        bits = 0;
        while (at < end && *at >= '0' && *at <= '9') bits = bits * 10 + uint64_t(*at++ - '0');
        if (negative) bits = 0 - bits;
        const auto digits = at - begin;
        return digits > 0 && digits <= 18 && (digits == 1 || *begin != '0');
    }
    bool parse(std::string_view object);

    std::string text_;             // the pieces before, between and after the integers
    std::vector<uint32_t> sizes_;  // of each piece of `text_`: one more than integers; empty: no shape
    std::vector<std::string> names_;
    unsigned unmatched_ = 0;  // shapes assigned since the last match
};

}  // namespace eventide::json
