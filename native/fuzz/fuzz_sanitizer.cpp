// Fuzzes the sanitizer's engine with operations as from a file: it terminates and its findings are consistent. Each
// operation is some bytes of the input; most numbers are small, so that operations refer to the same objects.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "encoding/varint.hpp"
#include "fuzz.hpp"
#include "sanitizer/hook_feed.hpp"

using namespace eventide;
using fuzz::require;

// Replaces the function of the hub, which needs the whole runtime and is not part of this program.
uint64_t hub::next_token() noexcept {
    static uint64_t last = 0;
    return ++last;
}

namespace {

constexpr const char* names[] = {"", "a", "b", "gave up"};

uint64_t small_or_any(ByteReader& in) {
    const uint8_t byte = in.byte();
    return byte < 0xf0 ? byte % 8 : in.varint();
}

Access access(ByteReader& in) {
    return {.address = small_or_any(in),
            .bytes = small_or_any(in),
            .run = small_or_any(in),
            .stride = small_or_any(in),
            .possible = bool(in.byte() & 1)};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    ByteReader in(data, size);
    sanitizer::Engine engine;
    sanitizer::Feed feed(engine);
    std::vector<Access> reads, writes;
    while (in.left()) {
        HookRecord r{.hook = Hook(in.byte() % hook_count), .end = bool(in.byte() & 1)};
        r.device = {int16_t(in.byte() % 4 - 1), 0};
        r.stream = small_or_any(in);
        r.event = small_or_any(in);
        r.version = small_or_any(in);
        r.work = small_or_any(in);
        r.handle = small_or_any(in);
        r.bytes = small_or_any(in);
        r.name = names[in.byte() % 4];
        r.group = names[in.byte() % 4];
        const uint8_t counts = in.byte();
        r.accesses_known = counts & 1;
        reads.clear(), writes.clear();
        for (int i = 0; i < (counts >> 1 & 3); ++i) reads.push_back(access(in));
        for (int i = 0; i < (counts >> 3 & 3); ++i) writes.push_back(access(in));
        r.reads = reads.data(), r.read_count = uint32_t(reads.size());
        r.writes = writes.data(), r.write_count = uint32_t(writes.size());
        feed.on_hook(r, in.byte() % 4 + 1u, uint32_t(small_or_any(in)));
    }
    engine.finish({.thread = 1}, true);
    for (const sanitizer::Finding& finding : engine.findings())
        require(finding.count > 0, "a finding occurred at least once");
    return 0;
}
