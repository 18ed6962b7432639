// Arguments that repeat. Events of one name have the same arguments in the same order, and most are whole numbers: what
// stands between the numbers is compared in one go, and nothing is parsed twice.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace eventide::trace::json {

class Shape {
  public:
    // Remembers the text of a flat object of whole numbers in place of what it knew. False, and nothing known, where
    // the text is anything else, has a name with an escape or ours ("eventide"), or where learning never paid.
    bool learn(std::string_view object);
    // Whether the text differs from what was learnt in its numbers only; it is such an object as well then. Gives each
    // number to `each(place, bits)`, which may have been called where the answer is no.
    template <class F>
    bool match(std::string_view object, F each) {
        const char *at = object.data(), *const end = at + object.size(), *piece = text_.data();
        for (size_t i = 0; i < sizes_.size(); ++i) {
            if (size_t(end - at) < sizes_[i] || std::memcmp(at, piece, sizes_[i]) != 0) return false;
            at += sizes_[i];
            piece += sizes_[i];
            if (i + 1 == sizes_.size()) break;
            uint64_t bits;
            if (!whole_number(at, end, bits)) return false;
            each(i, bits);
        }
        if (at != end || sizes_.empty()) return false;
        wasted_ = 0;
        return true;
    }
    // The names, in order.
    const std::vector<std::string>& names() const { return names_; }

  private:
    // Passes over a whole number of at most 18 digits, as JSON has them.
    static bool whole_number(const char*& at, const char* end, uint64_t& bits) {
        const bool negative = at < end && *at == '-';
        at += negative;
        const char* const begin = at;
        bits = 0;
        while (at < end && *at >= '0' && *at <= '9') bits = bits * 10 + uint64_t(*at++ - '0');
        if (negative) bits = 0 - bits;
        const auto digits = at - begin;
        return digits > 0 && digits <= 18 && (digits == 1 || *begin != '0');
    }
    bool read(std::string_view object);

    std::string text_;             // what stands before, between and behind the numbers
    std::vector<uint32_t> sizes_;  // of each piece of `text_`: one more than numbers, or none
    std::vector<std::string> names_;
    unsigned wasted_ = 0;  // texts learnt since one has matched
};

}  // namespace eventide::trace::json
