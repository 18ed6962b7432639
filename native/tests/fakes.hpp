// Work made of C++ functions, and a gate that holds a stream until it is opened.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "base/futex.hpp"
#include "fake_devices.hpp"
#include "runtime/stream.hpp"
#include "runtime/wait_graph.hpp"

namespace fakes {

using namespace eventide;

inline Ref<Stream> open_stream(uint32_t max_pending = 0, const char* name = "") {
    return Stream::open(device(), {0, 0, max_pending, name});
}

class Call final : public Work {
  public:
    // A function that returns a text fails with it.
    explicit Call(std::function<std::string()> f, std::shared_ptr<std::atomic<int>> outcome = nullptr)
        : f_(std::move(f)), outcome_(std::move(outcome)) {}

    enum { pending, ok, failed, skipped, cancelled };

    bool needs_host_lock() const override { return false; }
    bool begin() override { return true; }
    Ref<Failure> run() override {
        const std::string error = f_();
        result_ = error.empty() ? ok : failed;
        return error.empty() ? Ref<Failure>() : Ref<Failure>(new Failure(error));
    }
    void skip(const Failure&) override { result_ = skipped; }
    void fail(const Failure&) override { result_ = failed; }
    void publish() override {
        if (outcome_) outcome_->store(result_, std::memory_order_release);
    }
    void dispose() override { delete this; }

  private:
    std::function<std::string()> f_;
    std::shared_ptr<std::atomic<int>> outcome_;
    int result_ = pending;
};

// Submits and gives the outcome, which is set when the work is complete.
inline std::shared_ptr<std::atomic<int>> submit(Stream& stream, std::function<std::string()> f) {
    auto outcome = std::make_shared<std::atomic<int>>(Call::pending);
    auto* call = new Call(std::move(f), outcome);
    call->id = Work::next_id();
    while (!stream.try_submit(*call)) stream.sleep_until_space(1'000'000);
    return outcome;
}

inline std::function<std::string()> quietly(std::function<void()> f) {
    return [f = std::move(f)] {
        f();
        return std::string();
    };
}

class Gate {
  public:
    void hold(Stream& stream) {
        Step step = [state = state_] {
            while (!state->load(std::memory_order_acquire)) futex::wait(*state, 0, 1'000'000'000);
        };
        if (stream.immediate())  // its work only enqueues
            step = [step, queue = reinterpret_cast<StepQueue*>(stream.native_handle())] { queue->put(step); };
        submit(stream, quietly(step));
    }
    void open() {
        state_->store(1, std::memory_order_release);
        futex::wake_all(*state_);
    }
    ~Gate() { open(); }

  private:
    std::shared_ptr<std::atomic<uint32_t>> state_ = std::make_shared<std::atomic<uint32_t>>(0);
};

// Blocks until the marker has ended.
inline void join(Marker& marker) {
    while (!marker.sleep(1'000'000'000)) {
    }
}

// Blocks until all that is queued is complete; returns the first error, or nothing, and heals.
inline std::string synchronize(Stream& stream) {
    Stream::Sync sync = stream.begin_sync();
    if (sync.marker) {
        Blocking blocking("synchronize", stream, sync.marker->position());
        join(*sync.marker);
        sync.failure = sync.marker->failure();
    }
    return sync.failure ? sync.failure->message : "";
}

}  // namespace fakes
