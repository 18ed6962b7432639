#include "encoding/args_shape.hpp"

#include "encoding/json_scan.hpp"

namespace eventide::json {
namespace {

constexpr unsigned max_unmatched = 16;  // assigning costs more than parsing: stop where no shape ever matches

}  // namespace

bool ArgsShape::assign(std::string_view object) {
    if (unmatched_ == max_unmatched) return false;
    ++unmatched_;
    text_.clear();
    sizes_.clear();
    names_.clear();
    if (parse(object)) return true;
    sizes_.clear();
    return false;
}

bool ArgsShape::parse(std::string_view object) {
    PaddedText padded;
    Scanner scan = padded.scan(object);
    const char* piece = scan.at;
    const char* const object_end = piece + object.size();
    const auto keep_piece = [&](const char* end) {
        text_.append(piece, size_t(end - piece));
        sizes_.push_back(uint32_t(end - piece));
    };
    if (!scan.expect('{', "")) return false;
    for (bool last = false; !last;) {
        Value name, number;
        if (!scan.space() || *scan.at != '"' || !scan.string(name)) return false;
        if (name.flags || name.inner() == "eventide") return false;
        if (!scan.expect(':', "") || !scan.value(number)) return false;
        const char* at = number.begin;
        uint64_t bits;
        if (!read_integer(at, number.end, bits) || at != number.end) return false;
        names_.emplace_back(name.inner());
        keep_piece(number.begin);
        piece = number.end;
        if (!scan.separator('}', last)) return false;
    }
    if (scan.space()) return false;  // more than blanks follows
    keep_piece(object_end);
    return true;
}

}  // namespace eventide::json
