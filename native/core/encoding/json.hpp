// Writes JSON: strings and flat objects.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace eventide::json {

// Appends the text as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
void quote(std::string& out, std::string_view text);
std::string quote(std::string_view text);

// {"key": value, ...}; add() expects JSON, text() quotes.
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
