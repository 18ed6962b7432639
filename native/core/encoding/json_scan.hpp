// Reads JSON text that may end anywhere, without a copy: a value refers to its bytes in the text.
//
// The text must be followed by PADDING readable bytes, whose content is ignored (PaddedText adds them). Every function
// starts at `at`, and returns true with `at` behind what it read, or false with `problem` set: `more` if the text ended
// first (try again with more text), `bad` if it is not JSON; then `at` is the place of the error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace eventide::json {

constexpr size_t PADDING = 16;
constexpr int MAX_DEPTH = 400;       // Python's parser, which reads the values later, fails at about 1000
constexpr size_t MAX_NUMBER = 1000;  // characters; Python refuses integers of more than 4300 digits

enum class Problem : uint8_t { none, more, bad };
enum class Kind : uint8_t { absent, string, number, object, array, literal, not_a_number };

// Properties of a value's text.
enum Flags : uint8_t {
    ESCAPED = 1,       // a string has a backslash
    BAD_TEXT = 2,      // broken UTF-8, a raw control character or an unknown escape: not JSON
    NOT_A_NUMBER = 4,  // NaN or an infinity: not JSON
    NOT_PORTABLE =
        8,  // JSON that parsers refuse or change: a lone surrogate, a number of more than MAX_NUMBER characters
    DIRTY = BAD_TEXT | NOT_A_NUMBER | NOT_PORTABLE,  // json_text.hpp repairs it
};

struct Value {
    const char* begin = nullptr;
    const char* end = nullptr;
    Kind kind = Kind::absent;
    uint8_t flags = 0;

    std::string_view text() const { return {begin, size_t(end - begin)}; }
    std::string_view inner() const { return {begin + 1, size_t(end - begin - 2)}; }  // of a string, without the quotes
    explicit operator bool() const { return kind != Kind::absent; }
};

struct Scanner {
    const char* at;
    const char* end;
    Problem problem = Problem::none;
    const char* message = "";
    int max_depth = MAX_DEPTH;

    bool fail(const char* why) {  // always false
        problem = Problem::bad;
        message = why;
        return false;
    }
    bool more() {  // always false
        problem = Problem::more;
        return false;
    }
    // Moves behind blanks; false at the end of the text.
    bool space() {
        while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) ++at;
        return at < end || more();
    }
    bool expect(char c, const char* why) {
        if (!space()) return false;
        if (*at != c) return fail(why);
        ++at;
        return true;
    }
    bool value(Value& out);   // any value, checked completely
    bool string(Value& out);  // `at` is at the quote
    // After an element: moves behind a comma, or behind the closing bracket and sets `last`.
    bool separator(char close, bool& last) {
        if (!space()) return false;
        last = *at == close;
        if (!last && *at != ',')
            return fail(close == '}' ? "expected , or } in an object" : "expected , or ] in an array");
        ++at;
        return true;
    }

  private:
    bool scalar(Value& out);
    bool number(Value& out);
    bool word(Value& out);
    bool nested(Value& out);
    bool escape(uint8_t& flags);
    bool high_bytes(uint8_t& flags);
    bool key_and_colon(uint8_t& flags);
};

// A copy of a text with the padding that Scanner needs. It ends in a blank, so that a number at its end is whole.
class PaddedText {
  public:
    // Valid until the next call.
    Scanner scan(std::string_view text) {
        copy_.assign(text);
        copy_.append(1 + PADDING, ' ');
        return {copy_.data(), copy_.data() + text.size() + 1};
    }

  private:
    std::string copy_;
};

}  // namespace eventide::json
