// What an encoder appends to. Not std::string, whose append is a call for every few bytes: this one is inlined, and
// text whose length the compiler knows becomes a store or two.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace eventide::trace {

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
    // Only to a smaller size.
    void cut(size_t size) { size_ = size; }

    void push_back(char c) {
        room(1)[0] = c;
        ++size_;
    }
    void append(const char* bytes, size_t count) {
        if (count) std::memcpy(room(count), bytes, count);
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

    // Where the next bytes go, with room for so many; `took` says how many it became.
    char* room(size_t count) {
        if (capacity_ - size_ < count) grow(count);
        return data_.get() + size_;
    }
    void took(const char* end) { size_ = size_t(end - data_.get()); }

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

}  // namespace eventide::trace
