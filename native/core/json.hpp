// The little JSON that the core writes itself.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace eventide::json {

// The length of the UTF-8 sequence at p, or 0 if there is none.
inline size_t utf8_length(const unsigned char* p, size_t left) noexcept {
    if (p[0] < 0x80) return 1;
    const size_t n = p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc2 ? 2 : 0;
    if (!n || p[0] >= 0xf5 || n > left) return 0;
    for (size_t i = 1; i < n; ++i)
        if ((p[i] & 0xc0) != 0x80) return 0;
    const bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    const bool surrogate = p[0] == 0xed && p[1] >= 0xa0;
    return overlong || surrogate || (p[0] == 0xf4 && p[1] >= 0x90) ? 0 : n;
}

// With its quotes. What is not UTF-8 becomes the replacement character.
inline std::string quote(std::string_view text) {
    std::string out = "\"";
    for (size_t i = 0; i < text.size();) {
        const auto* p = reinterpret_cast<const unsigned char*>(text.data()) + i;
        const size_t n = utf8_length(p, text.size() - i);
        if (n == 0) {
            out += "\xef\xbf\xbd";
        } else if (*p == '"' || *p == '\\') {
            out += '\\';
            out += char(*p);
        } else if (*p == '\n' || *p == '\t' || *p == '\r') {
            out += *p == '\n' ? "\\n" : *p == '\t' ? "\\t" : "\\r";
        } else if (*p < 0x20) {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\u%04x", *p);
            out += escaped;
        } else {
            out.append(text, i, n);
        }
        i += n ? n : 1;
    }
    return out + '"';
}

// {"key": value, ...}; values that are text have to be quoted already.
class Object {
  public:
    Object& add(std::string_view key, const std::string& value) {
        text_ += (text_.size() > 1 ? ", " : "") + quote(key) + ": " + value;
        return *this;
    }
    Object& add(std::string_view key, uint64_t value) { return add(key, std::to_string(value)); }
    Object& text(std::string_view key, std::string_view value) { return add(key, quote(value)); }
    std::string done() const { return text_ + "}"; }

  private:
    std::string text_ = "{";
};

}  // namespace eventide::json
