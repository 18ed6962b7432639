// The little JSON that the core writes itself.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "encoding/utf8.hpp"

namespace eventide::json {

// Appended with its quotes. What is not UTF-8 becomes the replacement character.
inline void quote(std::string& out, std::string_view text) {
    const auto plain = [](char c) { return uint8_t(c) >= 0x20 && uint8_t(c) < 0x80 && c != '"' && c != '\\'; };
    out += '"';
    for (size_t i = 0; i < text.size();) {
        const size_t begin = i;
        while (i < text.size() && plain(text[i])) ++i;
        out.append(text, begin, i - begin);
        if (i == text.size()) break;
        const char* p = text.data() + i;
        const size_t n = uint8_t(*p) < 0x80 ? 1 : size_t(utf8_length(p, text.data() + text.size()));
        if (n == 0) {
            out += "\xef\xbf\xbd";
        } else if (*p == '"' || *p == '\\') {
            out += '\\';
            out += *p;
        } else if (*p == '\n' || *p == '\t' || *p == '\r') {
            out += *p == '\n' ? "\\n" : *p == '\t' ? "\\t" : "\\r";
        } else if (uint8_t(*p) < 0x20) {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\u%04x", unsigned(*p));
            out += escaped;
        } else {
            out.append(text, i, n);
        }
        i += n ? n : 1;
    }
    out += '"';
}

inline std::string quote(std::string_view text) {
    std::string out;
    quote(out, text);
    return out;
}

// {"key": value, ...}; values that are text have to be quoted already.
class Object {
  public:
    Object& add(std::string_view key, std::string_view value) {
        if (text_.size() > 1) text_ += ", ";
        quote(text_, key);
        text_ += ": ";
        text_ += value;
        return *this;
    }
    Object& add(std::string_view key, uint64_t value) { return add(key, std::to_string(value)); }
    Object& text(std::string_view key, std::string_view value) { return add(key, quote(value)); }
    std::string done() const { return text_ + "}"; }

  private:
    std::string text_ = "{";
};

}  // namespace eventide::json
