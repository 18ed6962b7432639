// Which stream waits for which. Streams alone cannot form a cycle, because a wait binds to an earlier record; a
// blocking call inside work can close one. It is detected at that call: no later wait can precede the position it waits
// for.
#pragma once

#include <cstdint>

namespace eventide {

class Stream;

class Graph {
  public:
    // The work at position `from_position` of `from` will block until `target` has completed `position`.
    // Throws Error (deadlock) that names the cycle and the remedy.
    static void block(Stream& from, uint64_t from_position, Stream& target, uint64_t position, const char* verb,
                      const char* remedy);
    static void unblock(Stream& from) noexcept;
    static void after_fork_in_child();

  private:
    class Search;
};

// One blocking call of this thread. Throws where blocking is not allowed, and registers the edge while it exists.
class Blocking {
  public:
    static constexpr const char* wait_outside = "wait with stream.wait_event() outside of the work instead";

    // Both texts must outlive the object.
    Blocking(const char* verb, Stream& target, uint64_t position, const char* remedy = wait_outside);
    ~Blocking();
    Blocking(const Blocking&) = delete;
    Blocking& operator=(const Blocking&) = delete;
    // The position waited for has changed (back-pressure): checks again.
    void retarget(Stream& target, uint64_t position);

  private:
    const char* verb_;
    const char* remedy_;
    Stream* from_;
};

// Throws Error (usage) inside notify and Future callbacks, where a blocking call could stop all others.
void refuse_in_callback(const char* verb);

}  // namespace eventide
