// A device for Eventide with real threads: two devices, any number of streams, one worker thread for each stream.
//
//   submit, make_marker, wait, gate   put a step into the stream's queue and return
//   the stream's thread               takes the steps in order: runs work, passes a point, waits for one
//   poll, join                        look at a point from any thread
//
// A marker is a point that the thread passes; a gate is a point that the thread waits for and that the host passes. A
// point lives as long as it is referenced: Eventide until it calls release, each queue until its step is complete.
//
//   >>> et.Device.build("threads", sources=["threads_device.cpp"])
//   >>> et.Stream("threads:1").submit(print, "from a thread of the plug-in").result()
#include <eventide/device.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace {

std::atomic<const eventide_host*> host;  // what Eventide does for us; atomic, since a device may be loaded twice
thread_local std::string why;            // the words for last_error

class Point {
  public:
    void pass() {
        {
            std::lock_guard lock(m_);
            // steady_clock is CLOCK_MONOTONIC, the clock of Eventide's own times.
            time_ns_ = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
            passed_.store(true, std::memory_order_release);
        }
        changed_.notify_all();
    }
    bool passed() const { return passed_.load(std::memory_order_acquire); }
    int64_t time_ns() const { return time_ns_; }  // once it is passed
    void wait() {
        std::unique_lock lock(m_);
        changed_.wait(lock, [this] { return passed(); });
    }
    void wait_for(int64_t ns) {
        std::unique_lock lock(m_);
        changed_.wait_for(lock, std::chrono::nanoseconds(ns), [this] { return passed(); });
    }

  private:
    std::mutex m_;
    std::condition_variable changed_;
    std::atomic<bool> passed_{false};
    int64_t time_ns_ = 0;
};

// What Eventide holds is an owner of the point, on the heap, since it has to be a plain pointer.
using Owner = std::shared_ptr<Point>;

Owner& owner(void* handle) {
    return *static_cast<Owner*>(handle);
}

struct Step {
    enum Kind { run, pass, wait, end } kind;
    eventide_work* work = nullptr;  // of run
    Owner point = nullptr;          // of pass and wait
};

class Stream {
  public:
    void put(Step step) {
        std::lock_guard lock(m_);
        queue_.push_back(std::move(step));
        more_.notify_one();  // with the lock held: after the last step the worker deletes the stream
    }

    // The worker thread. No lock is held while work runs: it may submit to this very stream and query its markers.
    // Neither noexcept nor catch (...): when the process ends, a thread that would return into Python is unwound.
    static void work_off(Stream* stream) {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, nullptr);  // signals are for the threads of the program
        for (;;) {
            const Step step = stream->take();
            if (step.kind == Step::run) host.load()->run_work(step.work);
            if (step.kind == Step::pass) step.point->pass();
            if (step.kind == Step::wait) step.point->wait();
            if (step.kind == Step::end) break;
        }
        delete stream;
    }

  private:
    Step take() {
        std::unique_lock lock(m_);
        more_.wait(lock, [this] { return !queue_.empty(); });
        Step step = std::move(queue_.front());
        queue_.pop_front();
        return step;
    }

    std::mutex m_;
    std::condition_variable more_;
    std::deque<Step> queue_;
};

// Nothing may throw into Eventide: an error becomes the result `failed`, and its message is kept for last_error.
template <class Answer, class F>
Answer guarded(Answer failed, F f) {
    try {
        return f();
    } catch (const std::exception& e) {
        why = e.what();
        return failed;
    }
}

// 0, or 1 if it failed, as submit and wait answer.
int put(void* stream, Step step) {
    return guarded(1, [&] {
        static_cast<Stream*>(stream)->put(std::move(step));
        return 0;
    });
}

void* put_new_point(void* stream, Step::Kind kind) {
    return guarded<void*>(nullptr, [&] {
        auto handle = std::make_unique<Owner>(std::make_shared<Point>());
        static_cast<Stream*>(stream)->put({kind, nullptr, *handle});
        return handle.release();
    });
}

// The thread is detached: it ends after close_stream, and stays where it is when the process ends.
void* open_stream(int32_t, int32_t) {
    return guarded<void*>(nullptr, [] {
        auto stream = std::make_unique<Stream>();
        std::thread(Stream::work_off, stream.get()).detach();
        return stream.release();
    });
}

void capabilities(int32_t, eventide_capabilities* c) {
    c->deferred = c->timing = c->join_timeout = c->gate = c->host_visible = c->concurrent = c->heals = 1;
    c->clock = "CLOCK_MONOTONIC";
}

const eventide_device table = {
    .version = EVENTIDE_DEVICE_VERSION,
    .size = sizeof(eventide_device),
    .type = "threads",
    .count = [] { return int32_t{2}; },
    .capabilities = capabilities,
    .description = [](int32_t) { return "a thread for each stream"; },
    .last_error = [] { return why.c_str(); },
    .open_stream = open_stream,
    .close_stream = [](void* stream) { put(stream, {Step::end}); },
    .submit = [](void* stream, eventide_work* work) { return put(stream, {Step::run, work}); },
    .make_marker = [](void* stream, int) { return put_new_point(stream, Step::pass); },
    .wait = [](void* stream, void* marker) { return put(stream, {Step::wait, nullptr, owner(marker)}); },
    .flush = nullptr,  // put() has woken the thread already
    .poll = [](void* marker) { return int(owner(marker)->passed() ? EVENTIDE_DONE : EVENTIDE_PENDING); },
    .error = nullptr,  // no marker of this device fails
    .join = [](void* marker, int64_t timeout_ns) { owner(marker)->wait_for(timeout_ns); },
    .completed_at = [](void* marker) { return owner(marker)->time_ns(); },
    .release = [](void* marker) { delete &owner(marker); },
    .gate = [](void* stream) { return put_new_point(stream, Step::wait); },
    .open_gate =
        [](void* token) {
            owner(token)->pass();
            delete &owner(token);
        },
    .allocate = nullptr,  // Eventide's own, in host memory
    .free = nullptr,
    .now = nullptr,  // CLOCK_MONOTONIC
};

}  // namespace

extern "C" EVENTIDE_EXPORT const eventide_device* eventide_device_entry(const eventide_host* eventide) {
    host = eventide;
    return &table;
}
