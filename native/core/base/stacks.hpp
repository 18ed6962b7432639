// Stacks of the host language, interned for the whole process: a stack has one number that never changes.
//
//   uint32_t id = stacks::capture();      // in any native listener; 0: the thread runs no such code now
//   stacks::resolve(id)                   // innermost frame first; from any thread, without the host lock
//
// The bindings install the function that walks the frames. A known stack costs a walk, a hash and one comparison; a new
// one is resolved to text at once, while its code exists. Stacks are never removed, so their number is limited; stacks
// beyond the limit are 0 and counted.
//
//   table      written under a lock, read by any thread without it: a slot is set once
//   texts      written under the same lock; a text never moves
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

namespace eventide::stacks {

// A frame as the walker sees it: a code object and the current instruction.
struct RawFrame {
    const void* code;
    int32_t instruction;
    bool operator==(const RawFrame&) const = default;
};

// The readable form of a frame. The texts are never freed.
struct Frame {
    std::string_view file;
    std::string_view function;
    int32_t line;
};

inline constexpr int deepest = 128;  // frames; the innermost ones of a deeper stack are kept
inline constexpr uint32_t most = 150'000;

using Capture = uint32_t (*)();
inline constinit std::atomic<Capture> installed{nullptr};

inline uint32_t capture() {
    const Capture walk = installed.load(std::memory_order_relaxed);
    return walk ? walk() : 0;
}

// How the host language interprets a new frame.
struct Language {
    RawFrame (*normalize)(const RawFrame&);  // one RawFrame for all that resolve to the same Frame; idempotent
    Frame (*resolve)(const RawFrame&);       // of a normalized one
};

// The number of this stack; stacks that are equal when normalized have the same number.
uint32_t intern(const RawFrame* frames, uint32_t count, const Language& language);

// Empty for 0 and for numbers that are not assigned.
std::vector<Frame> resolve(uint32_t id);

// A copy of the text that is never freed; equal texts share one.
std::string_view keep(std::string_view text);

struct Statistics {
    uint32_t interned;
    uint64_t lost;  // captures of stacks beyond the limit
};
Statistics statistics() noexcept;
void after_fork_in_child();

}  // namespace eventide::stacks
