// The output buffer of the encoders. Unlike std::string's, its append is inlined: a literal costs a store or two
// instead of a call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace eventide {

class Bytes {
  public:
    Bytes() = default;
    Bytes(Bytes&& other) noexcept { swap(other); }
    Bytes& operator=(Bytes&& other) noexcept {
        swap(other);
        return *this;
    }

    size_t size() const { return size_; }
    bool empty() const { return !size_; }
    const char* data() const { return data_.get(); }
    operator std::string_view() const { return {data_.get(), size_}; }

    void clear() { size_ = 0; }
    // Drops the bytes behind `size`, which is at most size().
    void cut(size_t size) { size_ = size; }

    void push_back(char c) {
        reserve_tail(1)[0] = c;
        ++size_;
    }
    void append(const char* bytes, size_t count) {
        if (count) std::memcpy(reserve_tail(count), bytes, count);
        size_ += count;
    }
    void append(std::string_view text) { append(text.data(), text.size()); }

    Bytes& operator+=(char c) {
        push_back(c);
        return *this;
    }
    Bytes& operator+=(std::string_view text) {
        append(text);
        return *this;
    }
    template <size_t n>
    Bytes& operator+=(const char (&literal)[n]) {
        append(literal, n - 1);
        return *this;
    }

    // At least `count` writable bytes behind the end; commit() then sets the end behind the bytes that were written.
    char* reserve_tail(size_t count) {
        if (capacity_ - size_ < count) grow(count);
        return data_.get() + size_;
    }
    void commit(const char* end) { size_ = size_t(end - data_.get()); }

  private:
    void swap(Bytes& other) {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }
    [[gnu::noinline]] void grow(size_t count) {
        const size_t capacity = std::max<size_t>({64, 2 * capacity_, size_ + count});
        std::unique_ptr<char[]> larger(new char[capacity]);
        if (size_) std::memcpy(larger.get(), data_.get(), size_);
        data_ = std::move(larger);
        capacity_ = capacity;
    }

    std::unique_ptr<char[]> data_;
    size_t size_ = 0, capacity_ = 0;
};

}  // namespace eventide
