// Many streams, many host threads, everything at once: nothing lost, nothing doubled, no thread stuck.
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "check.hpp"
#include "fakes.hpp"
#include "runtime/event.hpp"
#include "runtime/notifier.hpp"
#include "runtime/pool.hpp"

using namespace fakes;

namespace {

constexpr int stream_count = 64;
constexpr int thread_count = 8;

// A fake device makes its markers on the heap and hands each to a thread.
int operations() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    return kind == "cpu" ? 40'000 : 16'000;
#else
    return kind == "cpu" ? 1'000'000 : 100'000;
#endif
}

struct Counts {
    std::atomic<uint64_t> submitted{0}, ran{0}, notified{0}, asked{0};
};

class CountingTask final : public Task {
  public:
    explicit CountingTask(Counts& counts) : counts_(counts) {}
    void run() override { counts_.notified.fetch_add(1, std::memory_order_relaxed); }
    bool needs_host_lock() const override { return false; }

  private:
    Counts& counts_;
};

void host_thread(unsigned seed, std::vector<Ref<Stream>>& streams, std::vector<Ref<Event>>& events, EventPool& pool,
                 Counts& counts) {
    std::mt19937 random(seed);
    for (int i = 0; i < operations() / thread_count; ++i) {
        Stream& stream = *streams[random() % stream_count];
        Event& event = *events[random() % events.size()];
        switch (random() % 16) {
            case 0:
                event.wait(stream);
                break;
            case 1:
                event.query();
                stream.idle();
                break;
            case 2: {
                auto lease = pool.acquire(true);
                lease.event->record(stream);
                lease.event->wait(*streams[random() % stream_count]);
                pool.give_back(*lease.event, lease.number);
                break;
            }
            case 3: {
                Ref<Marker> marker = event.current().marker;
                auto* callback = new CountingTask(counts);
                counts.asked.fetch_add(1, std::memory_order_relaxed);
                if (!marker || !marker->when_ended(callback)) {
                    callback->run();
                    delete callback;
                }
                break;
            }
            case 4:
                if (random() % 64 == 0) synchronize(stream);
                break;
            case 5:
            case 6:
            case 7:
                event.record(stream);
                break;
            default:
                counts.submitted.fetch_add(1, std::memory_order_relaxed);
                submit(stream, quietly([&counts] { counts.ran.fetch_add(1, std::memory_order_relaxed); }));
        }
    }
}

}  // namespace

TEST_ON(a_million_operations_from_eight_threads_on_sixty_four_streams, ALL) {
    Counts counts;
    std::vector<Ref<Stream>> streams;
    std::vector<Ref<Event>> events;
    for (int i = 0; i < stream_count; ++i) streams.push_back(open_stream());
    for (int i = 0; i < 128; ++i) events.push_back(Ref<Event>(new Event({.timing = i % 2 == 0})));
    Ref<EventPool> pool(new EventPool(device_id()));
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < thread_count; ++t)
        threads.emplace_back([&, t] { host_thread(t, streams, events, *pool, counts); });
    for (auto& t : threads) t.join();
    for (auto& s : streams) CHECK(synchronize(*s) == "");
    CHECK(notifier::drain(60'000'000'000));
    CHECK(counts.ran == counts.submitted);
    CHECK(counts.notified == counts.asked);
    CHECK(pool->stats().in_use == 0);
    for (auto& s : streams) s->close();
}

MAIN
