// Native work that can be checked afterwards: each item notes, by one clock for all threads, when it began and ended.
#include <atomic>
#include <cstdint>

namespace {

std::atomic<int64_t> turn{0};

struct Item {
    int64_t began, ended, runs;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) void take_turn(void* item) {
    auto* i = static_cast<Item*>(item);
    i->began = ++turn;
    i->runs += 1;
    i->ended = ++turn;
}
