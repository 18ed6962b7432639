// Arguments that repeat: the fast path writes the same bytes as the slow one, and accepts nothing else.
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "encoding/args_shape.hpp"
#include "formats/perfetto/annotation_writer.hpp"

using namespace eventide;
using namespace eventide::formats;

namespace {

bool matches(json::ArgsShape& shape, std::string_view text) {
    // An exact copy, so that a sanitizer finds a read behind it.
    const std::vector<char> exact(text.begin(), text.end());
    return shape.match({exact.data(), exact.size()}, [](size_t, uint64_t) {});
}

// The bytes of all texts and of the names they introduce; `repeat`: by the fast path where it applies.
std::string encoded(const std::vector<std::string>& texts, bool repeat) {
    AnnotationWriter annotations;
    Bytes out;
    for (size_t i = 0; i < texts.size(); ++i) {
        if (i % 7 == 0) annotations.new_sequence();
        if (!repeat || !annotations.append_repeated(out, 5, texts[i])) {
            if (annotations.append_members(out, 4, texts[i]) && repeat) annotations.remember(4, 5, texts[i]);
        }
        Bytes names;
        annotations.append_new_names(names);
        out += names;
    }
    return std::string(std::string_view(out));
}

std::string random_number(std::mt19937_64& random) {
    switch (random() % 8) {
        case 0:
            return "-" + std::to_string(random() % 1000);
        case 1:
            return std::to_string(random());  // up to 20 digits
        case 2:
            return std::to_string(random() % 1000) + ".5";
        case 3:
            return std::vector<std::string>{"-0", "1e3", "null", "\"text\"", "[1,2]", "01", "-", ""}[random() % 8];
        default:
            return std::to_string(random() >> random() % 64);
    }
}

}  // namespace

TEST(a_shape_matches_texts_that_differ_in_whole_numbers_only) {
    json::ArgsShape shape;
    CHECK(!matches(shape, "") && !matches(shape, "{}"));
    CHECK(shape.assign("{\"a\": 1, \"b\":-2 }"));
    CHECK(matches(shape, "{\"a\": 0, \"b\":999999999999999999 }"));
    for (const char* other : {"", "{\"a\": 1, \"b\":-2 }x", "{\"a\": 1, \"b\":-2", "{\"a\": 1", "{\"a\": , \"b\":2 }",
                              "{\"a\": -, \"b\":2 }", "{\"a\": 01, \"b\":2 }", "{\"a\": 1.5, \"b\":2 }",
                              "{\"a\": 1e5, \"b\":2 }", "{\"a\": \"1\", \"b\":2 }", "{\"a\": 1, \"c\":2 }",
                              "{\"a\":1,\"b\":2}", "{\"a\": 1000000000000000000, \"b\":2 }"})
        CHECK(!matches(shape, other));
}

TEST(a_shape_is_not_assigned_from_texts_that_a_writer_must_parse) {
    for (const char* text :
         {"", "{}", "[1]", "{\"a\":1.5}", "{\"a\":\"b\"}", "{\"a\":1} x", "{\"a\":1,}", "{\"a\\n\":1}", "{\"a\n\":1}",
          "{\"eventide\":1}", "{\"a\":{\"b\":1}}", "{\"a\":NaN}", "{\"a\":01}"}) {
        json::ArgsShape shape;
        CHECK(!shape.assign(text));
        CHECK(!matches(shape, text));
    }
}

TEST(assigning_stops_where_shapes_never_match_and_continues_where_they_do) {
    json::ArgsShape idle, busy;
    int assigned = 0;
    for (int i = 0; i < 100; ++i) {
        const std::string text = "{\"k" + std::to_string(i) + "\":1}";
        assigned += idle.assign(text);
        CHECK(busy.assign(text));
        CHECK(matches(busy, text));
    }
    CHECK(assigned > 0 && assigned < 100);
}

TEST(the_fast_path_writes_the_bytes_of_the_slow_path) {
    std::mt19937_64 random(11);
    for (int round = 0; round < 300; ++round) {
        std::vector<std::string> texts;
        for (int i = 0; i < 40; ++i) {
            std::string text = random() % 9 ? "{\"first\": " : "{\"other\": ";
            text += random_number(random) + ",\"second\":" + std::to_string(random() >> random() % 64);
            texts.push_back(text + (random() % 9 ? "}" : ",\"inner\":{\"first\":1}}"));
        }
        CHECK(encoded(texts, true) == encoded(texts, false));
    }
}

MAIN
