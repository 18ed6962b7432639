#include "runtime/marker.hpp"

#include <utility>

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/wake.hpp"
#include "runtime/notifier.hpp"
#include "runtime/polled_stream.hpp"
#include "runtime/poller.hpp"

namespace eventide {
namespace {

// The value of callbacks_ once the marker has ended: no more callbacks are accepted.
struct Closed final : Task {
    void run() override {}
} closed;

}  // namespace

PolledStream& Marker::polled_stream() const noexcept {
    return static_cast<PolledStream&>(*stream_);
}

bool Marker::pending() {
    if (state() == MarkerState::pending && polled_) (void)polled_stream().refresh(*this);
    return state() == MarkerState::pending;
}

bool Marker::sleep(int64_t ns) {
    return polled_ ? polled_stream().join(*this, ns) : sleep_on_word(ns);
}

bool Marker::sleep_on_word(int64_t ns) {
    uint32_t w = word_.load(std::memory_order_acquire);
    while (!(w & state_bits) && !(w & sleepers))
        if (word_.compare_exchange_weak(w, w | sleepers, std::memory_order_acq_rel)) w |= sleepers;
    if (w & state_bits) return true;
    futex::wait(word_, w, ns);
    return state() != MarkerState::pending;
}

uint32_t Marker::set_outcome(int64_t time_ns, int64_t device_ns, Ref<Failure> failure) {
    time_ns_ = time_ns;
    device_ns_ = device_ns;
    failure_ = std::move(failure);
    return uint32_t(failure_ ? MarkerState::failed : MarkerState::done);
}

void Marker::decide(int64_t time_ns, int64_t device_ns, Ref<Failure> failure) {
    const uint32_t outcome = set_outcome(time_ns, device_ns, std::move(failure));
    word_.fetch_or(outcome * decided_bits, std::memory_order_release);
}

void Marker::complete(int64_t time_ns, int64_t device_ns, Ref<Failure> failure) {
    const uint32_t outcome = set_outcome(time_ns, device_ns, std::move(failure));
    end_with(outcome * decided_bits | outcome);
}

void Marker::end_with(uint32_t bits) {
    const uint32_t before = word_.fetch_or(bits, std::memory_order_acq_rel);
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
    if (polled_) polled_stream().forget(*this);
    failure_ = {};
    error_from_other_sync = {};
    error_at_creation = {};
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

Marker* MarkerList::take(Stream& stream, uint64_t event, bool timing, bool polled) {
    if (!free_) free_ = returned_.exchange(nullptr, std::memory_order_acquire);
    if (!free_) grow();
    Marker* m = std::exchange(free_, free_->next_);
    m->word_.store(0, std::memory_order_relaxed);
    m->callbacks_.store(nullptr, std::memory_order_relaxed);
    m->stream_ = &stream;
    m->position_ = 0;
    m->event_ = event;
    m->time_ns_ = 0;
    m->syncs = 0;
    m->timing_ = timing;
    m->polled_ = polled;
    m->handle = 0;
    m->work_data = nullptr;
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
