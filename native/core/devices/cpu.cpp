#include "devices/cpu.hpp"

#include <atomic>
#include <cstdlib>
#include <vector>

#include "base/clock.hpp"
#include "base/context.hpp"
#include "base/futex.hpp"
#include "base/host_lock.hpp"
#include "base/process.hpp"
#include "base/spin.hpp"
#include "base/thread.hpp"
#include "base/wake.hpp"
#include "devices/host_memory.hpp"
#include "runtime/push_stream.hpp"

namespace eventide {
namespace {

constexpr int64_t long_ns = 3'600'000'000'000;

// Producers push under the stream's lock; the worker takes the whole queue at once and runs it item by item.
// An idle stream passes markers at once, in the recording thread: no wake-up for nothing.
class CpuStream final : public DeviceStream {
  public:
    explicit CpuStream(PushStream& stream) : stream_(stream) {
        Ref<Stream> workers_own(&stream);  // dropped by the worker when it ends
        start_thread(&CpuStream::main, this);
        workers_own.detach();
    }

    void submit(Work& work) override { push({Item::work, &work, work.position}); }

    void mark(Marker& marker) override {
        if (stream_.completed() + 1 == marker.position())
            return stream_.pass_locked(marker, marker.timing() ? now_ns() : 0);
        push({Item::mark, &marker, marker.position()});
        marker.retain();  // the worker releases it: it takes the item only after the stream's lock is free
    }

    void wait(Marker& marker, uint64_t position) override {
        if (stream_.completed() + 1 == position && marker.state() != MarkerState::pending)
            return (void)stream_.waited_locked(marker, position);  // the caller has one: not the last
        push({Item::wait, &marker, position});                     // kept alive by the stream's list of waits
    }

    void flush() override {
        if (!wake_.load(std::memory_order_relaxed) || !wake_.exchange(false, std::memory_order_acq_rel)) return;
        turn_.fetch_add(1, std::memory_order_release);
        futex::wake_all(turn_);
    }

    void finish() override {
        finished_ = true;
        pushed_.fetch_add(1, std::memory_order_relaxed);
        wake_.store(true, std::memory_order_relaxed);
    }

  private:
    struct Item {
        enum Kind : uint8_t { work, mark, wait } kind;
        void* object;
        uint64_t position;
    };

    void push(Item item) {
        queue_.push_back(item);
        pushed_.store(pushed_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        if (sleeping_) {
            sleeping_ = false;
            wake_.store(true, std::memory_order_relaxed);
        }
    }

    // No catch (...) and no noexcept on this stack: see thread.hpp.
    static void* main(void* self) {
        static_cast<CpuStream*>(self)->loop();
        return nullptr;
    }

    void loop() {
        const std::string& given = stream_.options.name;
        const std::string number = "et-" + std::to_string(stream_.id);
        name_this_thread((given.empty() ? number : number + "-" + given).substr(0, 15).c_str());
        thread_context.core_thread = true;
        thread_context.defers_wakes = true;
        HostRun run;
        std::vector<Item> batch;
        while (take(batch, run)) {
            for (const Item& item : batch) {
                wake_now();  // there is more to do before the host lock is released
                step(item, run);
                give_up_if_abandoned(run);
            }
            batch.clear();
        }
        wake_now();
        stream_.drained();  // may take the host lock
        if (HostLock* lock = HostLock::installed()) lock->forget_thread();
        stream_.release();  // may delete this
    }

    // The process exits: this worker must neither keep the host lock nor request it again.
    static void give_up_if_abandoned(HostRun& run) {
        if (!process::abandoned.load(std::memory_order_relaxed)) return;
        run.leave();
        wake_now();
        park_thread();
    }

    // Fills the batch, sleeping without the host lock; false when the stream is finished and empty.
    bool take(std::vector<Item>& batch, HostRun& run) {
        bool awake = true;  // spin for more items before sleeping
        for (;;) {
            uint32_t turn, pushed;
            {
                std::lock_guard lock(stream_.lock());
                if (!queue_.empty()) {
                    queue_.swap(batch);
                    return true;
                }
                if (finished_ && !run.held()) return false;
                turn = turn_.load(std::memory_order_relaxed);
                pushed = pushed_.load(std::memory_order_relaxed);
                sleeping_ = !run.held() && !awake;
            }
            const bool held = run.held();
            run.leave();
            wake_now();
            if (awake && !held)
                awake = spin_.wait([&] { return pushed_.load(std::memory_order_relaxed) != pushed; });
            else if (!held)
                futex::wait(turn_, turn, long_ns);
            give_up_if_abandoned(run);
        }
    }

    void step(const Item& item, HostRun& run) {
        switch (item.kind) {
            case Item::work: {
                Work& work = *static_cast<Work*>(item.object);
                if (!work.needs_host_lock())
                    run.leave();  // native work may be long: other threads must not wait for the lock
                else if (!run.held())
                    run.enter(now_ns());
                stream_.execute(work);
                if (run.held()) run.leave_after_slice(now_ns());
                break;
            }
            case Item::mark: {
                Marker& marker = *static_cast<Marker*>(item.object);
                stream_.pass(marker, marker.timing() ? now_ns() : 0);
                marker.release();
                break;
            }
            case Item::wait: {
                Marker& marker = *static_cast<Marker*>(item.object);
                if (marker.pending()) run.leave();
                while (!marker.sleep(long_ns)) give_up_if_abandoned(run);
                stream_.waited(marker, item.position);
                break;
            }
        }
    }

    PushStream& stream_;
    std::vector<Item> queue_;  // guarded by the stream's lock, like the two flags
    bool sleeping_ = false;
    bool finished_ = false;
    std::atomic<uint32_t> pushed_{0};  // written under the stream's lock; read by the worker while it spins
    Spin spin_;                        // the worker's
    std::atomic<bool> wake_{false};    // a push found the worker asleep
    std::atomic<uint32_t> turn_{0};    // futex word of the worker
};

class CpuDevice final : public Device {
  public:
    std::string type() const override { return "cpu"; }
    int count() const override { return 1; }
    bool polled() const override { return false; }
    std::string description(int) const override { return "host threads"; }
    Capabilities capabilities(int) const override {
        return {.deferred = true,
                .timing = true,
                .join_timeout = true,
                .gate = true,
                .copy = true,
                .host_visible = true,
                .concurrent = true,
                .priorities = false,
                .default_stream_blocks = false,
                .heals = true,
                .clock = "CLOCK_MONOTONIC"};
    }
    std::unique_ptr<DeviceStream> open_stream(Stream& stream) override {
        return std::make_unique<CpuStream>(static_cast<PushStream&>(stream));
    }

    void* allocate(int, size_t bytes) override { return allocate_host(bytes); }
    void free(int, void* memory, size_t) override { std::free(memory); }
};

}  // namespace

void register_cpu_device() {
    devices::add(std::make_unique<CpuDevice>());
}

}  // namespace eventide
