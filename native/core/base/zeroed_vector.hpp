// A vector for columns that are often all zeros. Its memory starts as zeros and a zero is not written, so that such a
// column takes neither time nor memory: the kernel maps untouched pages to one page of zeros.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/large_vector.hpp"

namespace eventide {

template <class T>
class ZeroedVector {
  public:
    ZeroedVector() = default;
    explicit ZeroedVector(T first) { push_back(first); }
    ZeroedVector(ZeroedVector&& other) noexcept { swap(other); }
    ZeroedVector& operator=(ZeroedVector&& other) noexcept {
        swap(other);
        return *this;
    }
    ~ZeroedVector() {
        if (mapped_)
            munmap(memory_, mapped_);
        else
            std::free(memory_);
    }

    void push_back(T value) {
        if (size_ == capacity_) reserve(std::max<size_t>(64, 2 * capacity_));
        if (value != T{}) {
            data_[size_] = value;
            zero_ = false;
        }
        ++size_;
    }
    void reserve(size_t count) {
        if (count <= capacity_) return;
        if (count > size_t(-1) / 4 / sizeof(T)) throw std::bad_array_new_length();
        ZeroedVector larger;
        larger.allocate(count);
        if (!zero_) std::memcpy(larger.data_, data_, size_ * sizeof(T));
        larger.size_ = size_;
        larger.zero_ = zero_;
        swap(larger);
    }
    size_t size() const { return size_; }
    bool all_zero() const { return zero_; }
    T* data() { return data_; }
    const T* data() const { return data_; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }
    const T& operator[](size_t i) const { return data_[i]; }
    const T& back() const { return data_[size_ - 1]; }

  private:
    static constexpr size_t page = LargePages<T>::page, large = LargePages<T>::large;
    static constexpr size_t smallest_mapping = size_t(1) << 20;  // below it zeros cost less than faults of new pages

    void allocate(size_t count) {
        const size_t bytes = count * sizeof(T);
        if (bytes < smallest_mapping) {
            memory_ = std::calloc(count, sizeof(T));
            if (!memory_) throw std::bad_alloc();
            data_ = static_cast<T*>(memory_);
        } else {
            const size_t more = bytes < large ? 0 : page;  // so that it can begin at a large page
            void* mapping = mmap(nullptr, bytes + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (mapping == MAP_FAILED) throw std::bad_alloc();
            memory_ = mapping;
            mapped_ = bytes + more;
            char* first = static_cast<char*>(mapping);
            if (more) {
                first += (page - size_t(first) % page) % page;
                madvise(first, bytes, MADV_HUGEPAGE);  // optional: a failure only costs speed
            }
            data_ = reinterpret_cast<T*>(first);
        }
        capacity_ = count;
    }
    void swap(ZeroedVector& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(mapped_, other.mapped_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
        std::swap(zero_, other.zero_);
    }

    void* memory_ = nullptr;
    size_t mapped_ = 0;  // bytes of a mapping; 0: `memory_` is of calloc
    T* data_ = nullptr;
    size_t size_ = 0, capacity_ = 0;
    bool zero_ = true;
};

}  // namespace eventide
