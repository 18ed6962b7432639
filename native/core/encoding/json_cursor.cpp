#include "encoding/json_cursor.hpp"

#include <array>
#include <cstdint>
#include <cstring>

namespace eventide::trace::json {
namespace {

constexpr int deepest = 200;  // nesting beyond this is not followed: the stack is finite

// 1 for bytes that may stand in a JSON string as they are.
constexpr std::array<bool, 256> make_plain() {
    std::array<bool, 256> plain{};
    for (size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
    return plain;
}
constexpr std::array<bool, 256> plain = make_plain();

// The length of the UTF-8 sequence at `at`, or 0 where there is none that is valid.
size_t sequence(const unsigned char* at, const unsigned char* end) {
    const auto follows = [&](size_t n) {
        if (size_t(end - at) <= n) return false;
        for (size_t i = 1; i <= n; ++i)
            if ((at[i] & 0xC0) != 0x80) return false;
        return true;
    };
    if (at[0] < 0x80) return 1;
    if (at[0] >= 0xC2 && at[0] <= 0xDF) return follows(1) ? 2 : 0;
    if ((at[0] & 0xF0) == 0xE0) {
        if (!follows(2) || (at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xED && at[1] >= 0xA0)) return 0;
        return 3;
    }
    if (at[0] >= 0xF0 && at[0] <= 0xF4) {
        if (!follows(3) || (at[0] == 0xF0 && at[1] < 0x90) || (at[0] == 0xF4 && at[1] >= 0x90)) return 0;
        return 4;
    }
    return 0;
}

void quote_special(std::string& out, unsigned char c) {
    constexpr const char* hex = "0123456789abcdef";
    switch (c) {
        case '"':
            out += "\\\"";
            break;
        case '\\':
            out += "\\\\";
            break;
        case '\n':
            out += "\\n";
            break;
        case '\r':
            out += "\\r";
            break;
        case '\t':
            out += "\\t";
            break;
        default:
            out += "\\u00";
            out += hex[c >> 4];
            out += hex[c & 15];
    }
}

}  // namespace

void append_utf8(std::string& out, unsigned code) {
    if (code < 0x80) {
        out += char(code);
    } else if (code < 0x800) {
        out += char(0xC0 | code >> 6);
        out += char(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        out += char(0xE0 | code >> 12);
        out += char(0x80 | (code >> 6 & 0x3F));
        out += char(0x80 | (code & 0x3F));
    } else {
        out += char(0xF0 | code >> 18);
        out += char(0x80 | (code >> 12 & 0x3F));
        out += char(0x80 | (code >> 6 & 0x3F));
        out += char(0x80 | (code & 0x3F));
    }
}

void quote(std::string& out, std::string_view text) {
    const auto* at = reinterpret_cast<const unsigned char*>(text.data());
    const auto* const end = at + text.size();
    out += '"';
    while (at < end) {
        const auto* const run = at;
        while (at < end && plain[*at]) ++at;
        out.append(reinterpret_cast<const char*>(run), size_t(at - run));
        if (at == end) break;
        if (*at == '\\' && at + 1 == end) {
            out += "\\u005c";  // Perfetto takes a quote behind two backslashes for one that is escaped
            ++at;
        } else if (*at < 0x80) {
            quote_special(out, *at++);
        } else if (const size_t n = sequence(at, end)) {
            out.append(reinterpret_cast<const char*>(at), n);
            at += n;
        } else {
            out += "\xEF\xBF\xBD";
            ++at;
        }
    }
    out += '"';
}

bool Cursor::hex4(unsigned& out) {
    if (end_ - at_ < 4) return false;
    out = 0;
    for (int i = 0; i < 4; ++i) {
        const char c = *at_++;
        const int digit = c >= '0' && c <= '9'                 ? c - '0'
                          : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                               : -1;
        if (digit < 0) return false;
        out = out << 4 | unsigned(digit);
    }
    return true;
}

bool Cursor::escape(std::string& out) {
    if (at_ == end_) return false;
    const char c = *at_++;
    constexpr std::string_view letters = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
    if (const size_t i = letters.find(c); i != letters.npos) {
        out += meant[i];
        return true;
    }
    unsigned code, low;
    if (c != 'u' || !hex4(code)) return false;
    if (code >= 0xD800 && code < 0xDC00 && end_ - at_ >= 6 && at_[0] == '\\' && at_[1] == 'u') {
        const char* const back = at_;
        at_ += 2;
        if (!hex4(low)) return false;
        if (low >= 0xDC00 && low < 0xE000) {
            append_utf8(out, 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00));
            return true;
        }
        at_ = back;
    }
    append_utf8(out, code >= 0xD800 && code < 0xE000 ? 0xFFFD : code);
    return true;
}

bool Cursor::string(std::string_view& out, std::string& scratch) {
    if (!take('"')) return false;
    const auto* const quote = static_cast<const char*>(std::memchr(at_, '"', size_t(end_ - at_)));
    if (!quote) return false;
    if (!std::memchr(at_, '\\', size_t(quote - at_))) {
        out = {at_, size_t(quote - at_)};
        at_ = quote + 1;
        return true;
    }
    if (!decode(scratch)) return false;
    out = scratch;
    return true;
}

bool Cursor::decode(std::string& out) {
    out.clear();
    while (at_ < end_) {
        const char* const run = at_;
        while (at_ < end_ && *at_ != '"' && *at_ != '\\') ++at_;
        out.append(run, size_t(at_ - run));
        if (at_ == end_) return false;
        if (*at_++ == '"') return true;
        if (!escape(out)) return false;
    }
    return false;
}

bool Cursor::digits() {
    const char* const begin = at_;
    while (at_ < end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return at_ > begin;
}

std::string_view Cursor::number() {
    peek();
    const char* const begin = at_;
    if (at_ < end_ && *at_ == '-') ++at_;
    if (word("NaN") || word("Infinity")) {
        no_number_ = true;
        return {begin, size_t(at_ - begin)};
    }
    const bool zero = at_ < end_ && *at_ == '0';
    const char* const whole = at_;
    if (!digits() || (zero && at_ - whole > 1)) return {};
    if (at_ < end_ && *at_ == '.') {
        ++at_;
        if (!digits()) return {};
    }
    if (at_ < end_ && (*at_ | 32) == 'e') {
        ++at_;
        if (at_ < end_ && (*at_ == '+' || *at_ == '-')) ++at_;
        if (!digits()) return {};
    }
    return {begin, size_t(at_ - begin)};
}

bool Cursor::pass_string() {
    if (!take('"')) return false;
    std::string ignored;
    while (at_ < end_) {
        const auto c = static_cast<unsigned char>(*at_++);
        if (c == '"') return true;
        if (c < 0x20 || (c == '\\' && !escape(ignored))) return false;
    }
    return false;
}

std::string_view Cursor::skip(int depth) {
    const char c = peek();
    const char* const begin = at_;
    const auto text = [&] { return std::string_view(begin, size_t(at_ - begin)); };
    if (depth > deepest) return {};
    if (c == '"') return pass_string() ? text() : std::string_view();
    if (c == '{' || c == '[') {
        const char close = c == '{' ? '}' : ']';
        ++at_;
        if (take(close)) return text();
        do {
            if (c == '{' && (!pass_string() || !take(':'))) return {};
            if (skip(depth + 1).empty()) return {};
        } while (take(','));
        return take(close) ? text() : std::string_view();
    }
    if (word("true") || word("false") || word("null")) return text();
    return number();
}

}  // namespace eventide::trace::json
