// Intrusive reference counting: one word in the object, no control block; a raw pointer can become a Ref again.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace eventide {

// Base of objects that delete themselves with their last Ref. Starts at 0: the first Ref makes it 1.
class RefCounted {
  public:
    RefCounted() = default;
    RefCounted(const RefCounted&) = delete;
    RefCounted& operator=(const RefCounted&) = delete;
    virtual ~RefCounted() = default;

    void retain() const noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
    // False if the object is being destroyed.
    bool try_retain() const noexcept {
        uint32_t n = refs_.load(std::memory_order_relaxed);
        while (n && !refs_.compare_exchange_weak(n, n + 1, std::memory_order_relaxed)) {
        }
        return n != 0;
    }
    void release() const noexcept {
        if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }

    // The current count; other threads may change it meanwhile.
    uint32_t references() const noexcept { return refs_.load(std::memory_order_acquire); }

  private:
    mutable std::atomic<uint32_t> refs_{0};
};

// Works with anything that has retain() and release() (RefCounted, Marker).
template <class T>
class Ref {
  public:
    Ref() = default;
    Ref(T* p) noexcept : p_(p) {
        if (p_) p_->retain();
    }
    Ref(const Ref& o) noexcept : Ref(o.p_) {}
    Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
    ~Ref() {
        if (p_) p_->release();
    }
    Ref& operator=(Ref o) noexcept {
        std::swap(p_, o.p_);
        return *this;
    }
    T* get() const noexcept { return p_; }
    T* operator->() const noexcept { return p_; }
    T& operator*() const noexcept { return *p_; }
    explicit operator bool() const noexcept { return p_ != nullptr; }
    // Gives up ownership without releasing: for queues that hold raw pointers.
    T* detach() noexcept { return std::exchange(p_, nullptr); }
    // Takes over a reference that is already counted.
    static Ref adopt(T* p) noexcept {
        Ref r;
        r.p_ = p;
        return r;
    }
    bool operator==(const Ref& o) const noexcept { return p_ == o.p_; }

  private:
    T* p_ = nullptr;
};

}  // namespace eventide
