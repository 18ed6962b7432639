// Times of two processes in a message and its answer, over UDP, as NTP takes them. No process receives a message before
// the other has sent it: that bounds the difference of their clocks from both sides, whatever the network does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/process.hpp"

namespace eventide::recorder {

struct ClockPair {
    int64_t sent, received;      // of the question: by the clock of who asks, of who answers
    int64_t answered, returned;  // of the answer: by the clock of who answers, of who asks
};

// Answers questions that begin with the token, from a thread of its own, until it is destroyed. An answer is as long as
// its question. After a fork the parent's server belongs to the parent.
class ClockServer {
  public:
    // Throws Error (device) if no UDP socket can be bound to the address.
    ClockServer(const std::string& host, const std::string& token);
    ~ClockServer();
    ClockServer(const ClockServer&) = delete;
    ClockServer& operator=(const ClockServer&) = delete;

    uint16_t port() const { return port_; }

  private:
    int stop_ = -1;  // an eventfd; the thread closes its socket when it is readable
    uint16_t port_ = 0;
    uint32_t made_in_ = process::generation.load(std::memory_order_relaxed);
};

// Ask `count` times, each at most `patience_ms`. Empty if the first questions have no answer.
std::vector<ClockPair> ask_clock(const std::string& host, uint16_t port, const std::string& token, int count,
                                 int patience_ms);

}  // namespace eventide::recorder
