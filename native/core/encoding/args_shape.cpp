#include "encoding/args_shape.hpp"

#include <algorithm>

#include "encoding/json_cursor.hpp"

namespace eventide::trace::json {
namespace {

constexpr unsigned patience = 16;  // texts that are learnt for nothing before it is given up

// A name that stands in the text as it is, and that a writer need not look at again.
bool plain(std::string_view name) {
    const auto special = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\\'; };
    return name != "eventide" && std::none_of(name.begin(), name.end(), special);
}

}  // namespace

bool Shape::learn(std::string_view object) {
    if (wasted_ == patience) return false;
    ++wasted_;
    text_.clear();
    sizes_.clear();
    names_.clear();
    if (read(object)) return true;
    sizes_.clear();
    return false;
}

bool Shape::read(std::string_view object) {
    Cursor cursor(object);
    const char* piece = object.data();
    const auto keep = [&](const char* end) {
        text_.append(piece, size_t(end - piece));
        sizes_.push_back(uint32_t(end - piece));
    };
    if (!cursor.take('{')) return false;
    do {
        std::string_view name;
        std::string decoded;
        if (!cursor.string(name, decoded) || name.data() == decoded.data() || !plain(name) || !cursor.take(':'))
            return false;
        const std::string_view number = cursor.number();
        const char *at = number.data(), *const end = at + number.size();
        uint64_t bits;
        if (number.empty() || !whole_number(at, end, bits) || at != end) return false;
        names_.emplace_back(name);
        keep(number.data());
        piece = end;
    } while (cursor.take(','));
    if (!cursor.take('}') || cursor.peek() != '\0') return false;
    keep(object.data() + object.size());
    return true;
}

}  // namespace eventide::trace::json
