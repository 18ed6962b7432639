// Two devices for the tests, both polled, each stream with a thread of its own: "polled" runs work there, "immediate"
// runs it inside submit. And the macro that runs a test on these and on the cpu.
//
// Every call yields, so that other threads come in between; a marker that was never made is a null pointer here, so
// asking about one crashes.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "check.hpp"
#include "devices/cpu.hpp"
#include "runtime/device.hpp"
#include "runtime/notifier.hpp"
#include "runtime/stream.hpp"
#include "runtime/work.hpp"

namespace fakes {

using namespace eventide;

// A place in a stream that is passed once.
class Point {
  public:
    void pass() {
        std::lock_guard lock(m_);
        time_ns_ = now_ns();
        passed_ = true;
        changed_.notify_all();
    }
    bool passed() {
        std::lock_guard lock(m_);
        return passed_;
    }
    int64_t time_ns() {
        std::lock_guard lock(m_);
        return time_ns_;
    }
    void wait(int64_t ns = 60'000'000'000) {
        std::unique_lock lock(m_);
        changed_.wait_for(lock, std::chrono::nanoseconds(ns), [this] { return passed_; });
    }

  private:
    std::mutex m_;
    std::condition_variable changed_;
    bool passed_ = false;
    int64_t time_ns_ = 0;
};

using Step = std::function<void()>;

// The queue of one stream, and its thread, which ends with an empty step. The thread owns the queue.
class StepQueue {
  public:
    static StepQueue* start() {
        auto* queue = new StepQueue;
        std::thread([queue] { queue->run(); }).detach();
        return queue;
    }
    void put(Step step) {
        std::this_thread::yield();
        std::lock_guard lock(m_);
        steps_.push_back(std::move(step));
        more_.notify_one();
    }

  private:
    void run() {
        while (Step step = take()) step();
        delete this;
    }
    Step take() {
        std::unique_lock lock(m_);
        more_.wait(lock, [this] { return !steps_.empty(); });
        Step step = std::move(steps_.front());
        steps_.pop_front();
        return step;
    }

    std::mutex m_;
    std::condition_variable more_;
    std::deque<Step> steps_;
};

class FakeStream final : public DeviceStream {
  public:
    FakeStream(Stream& stream, bool immediate) : stream_(stream), immediate_(immediate) {}

    uint64_t native_handle() const override { return uint64_t(queue_); }

    void submit(Work& work) override {
        if (immediate_) return stream_.execute(work);
        auto given = std::make_shared<Given>(&work);
        work.device_data = new std::shared_ptr<Given>(given);
        queue_->put([given, stream = &stream_] {
            if (Work* mine = given->exchange(nullptr)) stream->execute(*mine);
        });
    }
    void mark(Marker& marker) override {
        auto point = std::make_shared<Point>();
        queue_->put([point] { point->pass(); });
        std::this_thread::yield();
        marker.handle = uint64_t(new std::shared_ptr<Point>(point));
    }
    void wait(Marker& marker, uint64_t) override {
        auto point = &marker.stream().device == &stream_.device ? point_of(marker) : bridge(marker);
        queue_->put([point] { point->wait(); });
    }
    MarkerState poll(Marker& marker) override {
        std::this_thread::yield();
        return point_of(marker)->passed() ? MarkerState::done : MarkerState::pending;
    }
    void join(Marker& marker, int64_t ns) override { point_of(marker)->wait(ns); }
    int64_t completed_at(Marker& marker) override { return point_of(marker)->time_ns(); }
    int64_t now() override { return now_ns(); }
    bool reclaim(Work& work) override {
        auto* given = static_cast<std::shared_ptr<Given>*>(work.device_data);
        return given && (*given)->exchange(nullptr);
    }
    void forget(Marker& marker) override { delete reinterpret_cast<std::shared_ptr<Point>*>(marker.handle); }
    void forget(Work& work) override { delete static_cast<std::shared_ptr<Given>*>(work.device_data); }
    void finish() override { queue_->put({}); }

  private:
    using Given = std::atomic<Work*>;  // null once it runs or was taken back

    class PassTask final : public Task {
      public:
        explicit PassTask(std::shared_ptr<Point> point) : point_(std::move(point)) {}
        void run() override { point_->pass(); }
        bool needs_host_lock() const override { return false; }

      private:
        std::shared_ptr<Point> point_;
    };

    static std::shared_ptr<Point> point_of(Marker& marker) {
        return *reinterpret_cast<std::shared_ptr<Point>*>(marker.handle);
    }
    static std::shared_ptr<Point> bridge(Marker& marker) {
        auto point = std::make_shared<Point>();
        auto* task = new PassTask(point);
        if (marker.when_ended(task)) return point;
        delete task;
        point->pass();
        return point;
    }

    Stream& stream_;
    const bool immediate_;
    StepQueue* const queue_ = StepQueue::start();
};

class FakeDevice final : public Device {
  public:
    explicit FakeDevice(bool immediate) : immediate_(immediate) {}
    std::string type() const override { return immediate_ ? "immediate" : "polled"; }
    int count() const override { return 1; }
    std::string description(int) const override { return "a fake"; }
    Capabilities capabilities(int) const override {
        return {.deferred = !immediate_, .timing = true, .gate = true, .heals = true, .clock = "CLOCK_MONOTONIC"};
    }
    std::unique_ptr<DeviceStream> open_stream(Stream& stream) override {
        return std::make_unique<FakeStream>(stream, immediate_);
    }
    void* allocate(int, size_t) override { return nullptr; }
    void free(int, void*, size_t) override {}

  private:
    const bool immediate_;
};

// The device type that open_stream uses.
inline std::string kind = "cpu";

inline Device& device() {
    if (!devices::find("polled")) {
        register_cpu_device();
        devices::add(std::make_unique<FakeDevice>(false));
        devices::add(std::make_unique<FakeDevice>(true));
    }
    return *devices::find(kind);
}

inline DeviceId device_id() {
    return {device().number, 0};
}

class KindScope {
  public:
    explicit KindScope(const char* given) { kind = given; }
    ~KindScope() { kind = "cpu"; }
};

struct OnDevices {
    OnDevices(const char* name, void (*run)(), std::initializer_list<const char*> kinds) {
        for (const char* each : kinds)
            check::cases().push_back({std::string(name) + " (" + each + ")", [run, each] {
                                          const KindScope scope(each);
                                          run();
                                      }});
    }
};

}  // namespace fakes

// A test on each device named; TEST_ON_ALL: on those of every kind.
#define TEST_ON(name, ...)                                               \
    static void name();                                                  \
    static fakes::OnDevices on_devices_##name{#name, name, __VA_ARGS__}; \
    static void name()
#define DEFERRED {"cpu", "polled"}
#define ALL {"cpu", "polled", "immediate"}
