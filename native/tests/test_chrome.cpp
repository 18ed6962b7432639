// The reader of Chrome traces: exact decimals, repaired texts, documents that are cut anywhere, limits.
#include <string>
#include <string_view>
#include <vector>

#include "analysis/enclosing.hpp"
#include "check.hpp"
#include "encoding/decimal.hpp"
#include "encoding/json_text.hpp"
#include "formats/chrome/chrome_document.hpp"

using namespace eventide;
using chrome::Document;
using chrome::Ended;

namespace {

const std::vector<std::string> KNOWN{"kernel"};
constexpr std::string_view GOOD = R"({"ph":"X","name":"good","pid":1,"tid":1,"ts":1.5,"dur":2})";

int64_t ns(std::string_view text) {
    const auto time = parse_microseconds(text);
    return time ? time->rounded() : null_int64;
}

json::Value scan(std::string& text) {
    const size_t length = text.size();
    text.append(json::PADDING, '\0');
    json::Scanner scanner{text.data(), text.data() + length};
    json::Value value;
    CHECK(scanner.value(value));
    return value;
}

Ended feed(Document& document, std::string_view text, size_t piece) {
    for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) document.feed(text.substr(0, piece));
    return document.finish();
}

}  // namespace

TEST(microseconds_become_nanoseconds_exactly) {
    CHECK(ns("1712195495519689.047") == 1712195495519689047);
    CHECK(ns("-0.0005") == 0 && ns("-0.0006") == -1 && ns("0.0005") == 1);
    CHECK(ns("1.5e3") == 1500000 && ns("1e-400") == 0 && ns(" 12 ") == 12000);
    CHECK(ns("1e300") == null_int64 && ns("NaN") == null_int64 && ns("") == null_int64 &&
          ns("1e99999999999999999999") == null_int64);
    CHECK(ns("1712195495519689.0474999999999999999999999") == 1712195495519689047);
}

TEST(integers_are_64_bits_or_nothing) {
    CHECK(parse_integer("-9223372036854775808") == INT64_MIN);
    CHECK(parse_integer("0xffffffffffffffff") == -1 && parse_integer("7.0") == 7 && parse_integer("7e2") == 700);
    CHECK(!parse_integer("18446744073709551616") && !parse_integer("1.5") && !parse_integer("x"));
    CHECK(!parse_integer("1e40") && !parse_integer("99999999999999999999999999999999999999e19"));
}

TEST(texts_are_repaired) {
    std::string text = "\"a\\u00e9\\ud800\xff\\q\"";
    const json::Value value = scan(text);
    CHECK(value.flags & json::DIRTY);
    CHECK(json::decode(value) == "a\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD\\q");
    std::string object = "{\"k\\x\": [NaN, -inf, 1.5, \"\x01\"] }";
    CHECK(json::clean(scan(object)) == R"({"k\\x": [null, null, 1.5, "\u0001"] })");
}

TEST(pieces_of_any_size_give_the_same_result) {
    const std::string text = "\xEF\xBB\xBF{\"a\": [1, {\"b\": null}], \"traceEvents\": [" + std::string(GOOD) + ", " +
                             std::string(GOOD) + ", 7], \"z\": -1e3 } \n";
    for (size_t piece = 1; piece <= text.size(); ++piece) {
        Document document(KNOWN, 1 << 20);
        CHECK(feed(document, text, piece) == Ended::whole);
        CHECK(document.table.spans.rows() == 2 && document.elements == 3 && document.metadata.size() == 2);
        CHECK(document.metadata[1].second == "-1e3" && document.trailing == 0);
    }
}

TEST(a_truncated_file_keeps_its_complete_events) {
    const std::string text = "[" + std::string(GOOD) + "," + std::string(GOOD);
    Document document(KNOWN, 1 << 20);
    CHECK(feed(document, text.substr(0, text.size() - 1), 5) == Ended::cut);
    CHECK(document.table.spans.rows() == 1 && document.position == int64_t(GOOD.size()) + 2);
}

TEST(limits_are_enforced) {
    Document deep(KNOWN, 1 << 20);
    CHECK(feed(deep, std::string(100000, '['), 4096) == Ended::bad && deep.message == "nested deeper than 400 levels");
    Document endless(KNOWN, 1 << 12);
    CHECK(feed(endless, "[{\"name\":\"" + std::string(100000, 'x'), 100) == Ended::bad);
    CHECK(endless.message == "a value is longer than the limit" && endless.position == 1);
}

TEST(a_point_finds_the_innermost_span_that_contains_it) {
    const int32_t track[] = {0, 0, 0, 1};
    const int64_t start[] = {0, 2, 20, 0}, duration[] = {10, 3, null_int64, 5};
    const int32_t at_track[] = {0, 0, 0, 0, 1, 2};
    const int64_t at[] = {3, 6, 15, 99, 5, 0};
    const uint8_t inside[] = {1, 1, 0, 1, 1, 1};
    int64_t found[6];
    find_spans({track, start, duration, 4}, {at_track, at, inside, 6}, found);
    CHECK(found[0] == 1 && found[1] == 0 && found[2] == 2 && found[3] == 2 && found[4] == 3 && found[5] == -1);
}

MAIN
