// Work and edges derived from arbitrary operations: references are valid, and there are few edges. The oracle is in
// tests/reference/derived_work.py; this test is for the sanitizers.
#include <limits>
#include <random>

#include "check.hpp"
#include "tracefile/derived_work.hpp"
#include "tracefile/trace_columns.hpp"

using namespace eventide;
using namespace eventide::tracefile;

namespace {

struct Columns {
    std::vector<int32_t> small[8];
    std::vector<int64_t> wide[8];
    std::vector<uint64_t> memory[2];

    Operations view() const {
        Operations o{.rows = int64_t(small[0].size())};
        o.hook = small[0].data(), o.end = small[1].data(), o.outcome = small[2].data(), o.thread = small[3].data();
        o.device = small[4].data(), o.name = small[5].data(), o.stack = small[6].data(), o.group = small[7].data();
        o.time = wide[0].data(), o.stream = wide[1].data(), o.event = wide[2].data(), o.version = wide[3].data();
        o.work = wide[4].data(), o.start = wide[5].data(), o.finish = wide[6].data(), o.cpu = wide[7].data();
        o.handle = memory[0].data(), o.bytes = memory[1].data();
        return o;
    }
};

std::vector<Operation> all_kinds() {
    std::vector<Operation> out;
    for (int k = 0; k < operation_count; ++k) out.push_back(Operation(k));
    return out;
}

// Includes unknown hooks, and sometimes the largest and the smallest number.
Columns random_operations(uint32_t seed, int rows, int64_t most) {
    std::mt19937_64 random(seed);
    const auto number = [&]() -> int64_t {
        if (random() % 50 == 0) return random() % 2 ? std::numeric_limits<int64_t>::max() : null_int64;
        return int64_t(random() % uint64_t(most)) - 1;
    };
    Columns c;
    for (int i = 0; i < rows; ++i) {
        for (auto& column : c.small) column.push_back(int32_t(random() % 13) - 1);
        for (auto& column : c.wide) column.push_back(number());
        for (auto& column : c.memory) column.push_back(uint64_t(number()));
    }
    return c;
}

}  // namespace

TEST(any_operations_give_spans_and_edges_that_refer_to_each_other) {
    for (uint32_t seed = 0; seed < 200; ++seed) {
        const Columns c = random_operations(seed, int(seed) * 5, 2 + seed % 40);
        const DerivedWork found = derive_work(c.view(), all_kinds(), 1000, 20);
        const auto spans = int64_t(found.spans.kind.size());
        const auto in_range = [&](int64_t span) { return span == null_int64 || (span >= 1000 && span < 1000 + spans); };
        for (const int64_t span : found.edges.from_span) CHECK(in_range(span));
        for (const int64_t span : found.edges.to_span) CHECK(in_range(span));
        for (const int64_t duration : found.spans.duration) CHECK(duration == null_int64 || duration >= 0);
        for (const int32_t track : found.spans.track)
            CHECK(track < 20 || track - 20 < int32_t(found.streams.stream.size()));
        size_t syncs = 0, works = 0, edges = 0;
        for (const int32_t kind : found.spans.kind) ++(kind >= int32_t(SpanKind::stream_sync) ? syncs : works);
        for (const int32_t kind : found.edges.kind) edges += kind == int32_t(EdgeKind::synchronize);
        CHECK(syncs == found.waited_for.size());
        CHECK(edges <= syncs + works);
    }
}

TEST(no_operations_give_nothing) {
    const DerivedWork found = derive_work(Columns().view(), {}, 0, 0);
    CHECK(found.spans.kind.empty() && found.edges.kind.empty() && found.levels.held.empty());
}

MAIN
