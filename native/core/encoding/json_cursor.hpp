// Reading the JSON of `args` and writing JSON strings. A reader of one value at a time: nothing is built.
#pragma once

#include <string>
#include <string_view>

namespace eventide::trace::json {

// Walks JSON text. A method that fails leaves the cursor anywhere: give up on the text then.
class Cursor {
  public:
    explicit Cursor(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

    // The next character that is no space, or 0 at the end.
    char peek() {
        while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
        return at_ < end_ ? *at_ : '\0';
    }
    bool take(char c) {
        if (peek() != c) return false;
        ++at_;
        return true;
    }
    bool word(std::string_view w) {
        if (size_t(end_ - at_) < w.size() || std::string_view(at_, w.size()) != w) return false;
        at_ += w.size();
        return true;
    }
    // A string, decoded: as it stands in the text where nothing is escaped, else in `scratch`. Half of a surrogate pair
    // becomes U+FFFD.
    bool string(std::string_view& out, std::string& scratch);
    // The text of a number, as Python writes them: NaN and Infinity as well.
    std::string_view number();
    // Passes over any value; gives its text, or nothing.
    std::string_view skip(int depth = 0);
    // Whether a number was NaN or infinite, which Python writes and JSON does not have.
    bool met_no_number() const { return no_number_; }

  private:
    bool pass_string();
    bool digits();
    bool decode(std::string& out);
    bool escape(std::string& out);
    bool hex4(unsigned& out);

    const char* at_;
    const char* end_;
    bool no_number_ = false;
};

// Appends the text as a JSON string with its quotes. Bytes that are no UTF-8 become U+FFFD.
void quote(std::string& out, std::string_view text);

void append_utf8(std::string& out, unsigned code);

}  // namespace eventide::trace::json
