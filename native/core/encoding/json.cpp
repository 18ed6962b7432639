#include "encoding/json.hpp"

#include <array>

#include "encoding/utf8.hpp"

namespace eventide::json {
namespace {

// True for bytes that a JSON string contains unchanged.
constexpr auto plain_bytes = [] {
    std::array<bool, 256> plain{};
    for (size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
    return plain;
}();

void append_escape(std::string& out, char c) {
    static constexpr char hex[] = "0123456789abcdef";
    switch (c) {
        case '"':
        case '\\':
            out += {'\\', c};
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
            out += {'\\', 'u', '0', '0', hex[uint8_t(c) >> 4], hex[c & 15]};
    }
}

}  // namespace

void quote(std::string& out, std::string_view text) {
    const char *at = text.data(), *const end = at + text.size();
    out += '"';
    while (at < end) {
        const char* const run = at;
        while (at < end && plain_bytes[uint8_t(*at)]) ++at;
        out.append(run, size_t(at - run));
        if (at == end) break;
        if (*at == '\\' && at + 1 == end) {
            out += "\\u005c";  // Perfetto reads a quote after two backslashes as an escaped quote
            ++at;
        } else if (uint8_t(*at) < 0x80) {
            append_escape(out, *at++);
        } else if (const int length = utf8_length(at, end)) {
            out.append(at, size_t(length));
            at += length;
        } else {
            append_utf8(out, replacement_character);
            ++at;
        }
    }
    out += '"';
}

std::string quote(std::string_view text) {
    std::string out;
    quote(out, text);
    return out;
}

}  // namespace eventide::json
