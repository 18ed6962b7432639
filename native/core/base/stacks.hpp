// Stacks of the host language, interned for the whole process: one number for one stack, for ever.
//
//   uint32_t id = stacks::capture();      // in any native listener; 0: this thread runs none of its code just now
//   stacks::resolve(id)                   // innermost frame first; from any thread, without the host lock
//
// The bindings install what walks the frames. A stack seen before costs a walk, a hash and one comparison; a new one
// is resolved to text at once, while its code is sure to exist. Nothing is ever removed, so there is a limit; stacks
// beyond it are 0 and counted.
//
//   table      written under a lock, read by anybody: a slot goes from empty to a stack and stays
//   texts      the same lock; what they hold stands still for the life of the process
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

namespace eventide::stacks {

// One place of a stack as the walker knows it: some code, and how far it has come.
struct RawFrame {
    const void* code;
    int32_t instruction;
    bool operator==(const RawFrame&) const = default;
};

// The same for people. The texts live as long as the process.
struct Frame {
    std::string_view file;
    std::string_view function;
    int32_t line;
};

inline constexpr int deepest = 128;  // frames; of a deeper stack the innermost are kept
inline constexpr uint32_t most = 150'000;

using Capture = uint32_t (*)();
inline constinit std::atomic<Capture> installed{nullptr};

inline uint32_t capture() {
    const Capture walk = installed.load(std::memory_order_relaxed);
    return walk ? walk() : 0;
}

// What the walker's language says of a frame that is new here.
struct Language {
    RawFrame (*settle)(const RawFrame&);  // one form for places that are one to people; of a settled one, itself
    Frame (*resolve)(const RawFrame&);    // of a settled one
};

// The number of this stack; those that settle to one have one.
uint32_t intern(const RawFrame* frames, uint32_t count, const Language& language);

// Empty for 0 and for numbers that nobody has got.
std::vector<Frame> resolve(uint32_t id);

// A copy of the text that stays; equal texts share one.
std::string_view keep(std::string_view text);

struct Statistics {
    uint32_t interned;
    uint64_t lost;  // captures of stacks beyond the limit
};
Statistics statistics() noexcept;
void after_fork_in_child();

}  // namespace eventide::stacks
