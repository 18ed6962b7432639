#include "marker.hpp"

#include <utility>

#include "clock.hpp"
#include "futex.hpp"
#include "notifier.hpp"
#include "poller.hpp"
#include "stream.hpp"
#include "wake.hpp"

namespace eventide {
namespace {

// Stands in callbacks_ for "no more": the marker has ended.
struct Closed final : Task {
    void run() override {}
} closed;

}  // namespace

bool Marker::pending() {
    if (state() == MarkerState::pending && polled_) stream_->refresh(*this);
    return state() == MarkerState::pending;
}

bool Marker::sleep(int64_t ns) {
    if (polled_) return stream_->join(*this, ns);
    uint32_t w = word_.load(std::memory_order_acquire);
    while (!(w & state_bits) && !(w & sleepers))
        if (word_.compare_exchange_weak(w, w | sleepers, std::memory_order_acq_rel)) w |= sleepers;
    if (w & state_bits) return true;
    futex::wait(word_, w, ns);
    return state() != MarkerState::pending;
}

void Marker::complete(int64_t time_ns, int64_t device_ns, Ref<Failure> failure) {
    time_ns_ = time_ns;
    device_ns_ = device_ns;
    const MarkerState end = failure ? MarkerState::failed : MarkerState::done;
    failure_ = std::move(failure);
    const uint32_t before = word_.fetch_or(uint32_t(end), std::memory_order_acq_rel);
    if (before & sleepers) wake_soon(word_);
    Task* newest = callbacks_.exchange(&closed, std::memory_order_acq_rel);
    Task* oldest = nullptr;
    while (newest) {
        Task* t = std::exchange(newest, newest->next);
        t->next = std::exchange(oldest, t);
    }
    notifier::post(oldest);
}

bool Marker::when_ended(Task* task) {
    Task* head = callbacks_.load(std::memory_order_acquire);
    do {
        if (head == &closed) return false;
        task->next = head;
    } while (!callbacks_.compare_exchange_weak(head, task, std::memory_order_acq_rel));
    if (polled_) poller::watch(Ref<Marker>(this));
    return true;
}

void Marker::release() noexcept {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    Stream* s = stream_;
    if (polled_) s->forget(*this);
    failure_ = {};
    inherited = {};
    doom = {};
    s->return_marker(this);
}

struct MarkerList::Block {
    static constexpr int size = 64;
    Marker markers[size];
    Block* next;
};

MarkerList::~MarkerList() {
    while (blocks_) delete std::exchange(blocks_, blocks_->next);
}

void MarkerList::grow() {
    blocks_ = new Block{{}, blocks_};
    allocated_ += Block::size;
    for (Marker& m : blocks_->markers) m.next_ = std::exchange(free_, &m);
}

Marker* MarkerList::take(Stream& stream, uint64_t position, uint64_t event, bool timing, bool polled) {
    if (!free_) free_ = returned_.exchange(nullptr, std::memory_order_acquire);
    if (!free_) grow();
    Marker* m = std::exchange(free_, free_->next_);
    m->word_.store(0, std::memory_order_relaxed);
    m->callbacks_.store(nullptr, std::memory_order_relaxed);
    m->stream_ = &stream;
    m->position_ = position;
    m->event_ = event;
    m->time_ns_ = 0;
    m->syncs = 0;
    m->timing_ = timing;
    m->polled_ = polled;
    m->handle = 0;
    m->work = nullptr;
    m->starts = nullptr;
    return m;
}

void MarkerList::put(Marker* m) noexcept {
    m->next_ = returned_.load(std::memory_order_relaxed);
    while (!returned_.compare_exchange_weak(m->next_, m, std::memory_order_release, std::memory_order_relaxed)) {
    }
}

}  // namespace eventide
