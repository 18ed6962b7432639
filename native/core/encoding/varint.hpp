// Variable-length integers: seven bits per byte, the lowest first; the top bit is set in all bytes but the last.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace eventide {

constexpr uint64_t zigzag(int64_t v) noexcept {
    return (uint64_t(v) << 1) ^ uint64_t(v >> 63);
}
constexpr int64_t unzigzag(uint64_t v) noexcept {
    return int64_t(v >> 1) ^ -int64_t(v & 1);
}

inline constexpr int longest_varint = 10;

// Writes at p and returns the end; longest_varint bytes must be available. Byte: char or uint8_t.
template <class Byte>
inline Byte* put_varint(Byte* p, uint64_t v) noexcept {
    for (; v >= 0x80; v >>= 7) *p++ = Byte(v | 0x80);
    *p++ = Byte(v);
    return p;
}

// Reads at p, which then is behind the number. False where the bytes end first or the number has more than 64 bits.
template <class Byte>
inline bool get_varint(const Byte*& p, const Byte* end, uint64_t& out) noexcept {
    if (p < end && !(uint8_t(*p) & 0x80)) {  // most have one byte
        out = uint8_t(*p++);
        return true;
    }
    out = 0;
    for (int shift = 0; p < end && shift < 64; shift += 7) {
        const auto b = uint8_t(*p++);
        out |= uint64_t(b & 0x7f) << shift;
        if (!(b & 0x80)) return true;
    }
    return false;
}

// Writes bytes to a buffer of fixed size. A write that does not fit is dropped and sets full().
class ByteWriter {
  public:
    ByteWriter(uint8_t* from, size_t size) noexcept : begin_(from), p_(from), end_(from + size) {}
    void byte(uint8_t v) noexcept {
        if (has_space(1)) *p_++ = v;
    }
    void varint(uint64_t v) noexcept {
        if (has_space(longest_varint)) p_ = put_varint(p_, v);
    }
    void signed_varint(int64_t v) noexcept { varint(zigzag(v)); }
    void raw(const void* bytes, size_t n) noexcept {
        if (!n || !has_space(n)) return;
        std::memcpy(p_, bytes, n);
        p_ += n;
    }
    bool has_space(size_t n) noexcept {
        if (size_t(end_ - p_) >= n) return true;
        full_ = true;
        return false;
    }
    bool full() const noexcept { return full_; }
    size_t size() const noexcept { return size_t(p_ - begin_); }
    const uint8_t* data() const noexcept { return begin_; }
    // Drops the bytes behind `size` and clears full().
    void cut(size_t size) noexcept {
        p_ = begin_ + size;
        full_ = false;
    }

  private:
    uint8_t* begin_;
    uint8_t* p_;
    uint8_t* end_;
    bool full_ = false;
};

// Reads such bytes. Behind the end it returns zeros and sets bad().
class ByteReader {
  public:
    ByteReader(const void* from, size_t size) noexcept : p_(static_cast<const uint8_t*>(from)), end_(p_ + size) {}
    explicit ByteReader(std::string_view bytes) noexcept : ByteReader(bytes.data(), bytes.size()) {}
    uint8_t byte() noexcept { return need(1) ? *p_++ : 0; }
    uint64_t varint() noexcept {
        uint64_t v;
        if (get_varint(p_, end_, v)) return v;
        fail();
        return 0;
    }
    int64_t signed_varint() noexcept { return unzigzag(varint()); }
    template <class T>
    T fixed() noexcept {
        T v{};
        if (need(sizeof v)) {
            std::memcpy(&v, p_, sizeof v);
            p_ += sizeof v;
        }
        return v;
    }
    std::string_view bytes(uint64_t n) noexcept {
        if (!need(n)) return {};
        p_ += n;
        return {reinterpret_cast<const char*>(p_ - n), size_t(n)};
    }
    bool left() const noexcept { return p_ < end_ && !bad_; }
    bool bad() const noexcept { return bad_; }

  private:
    bool need(uint64_t n) noexcept {
        if (uint64_t(end_ - p_) >= n) return true;
        fail();
        return false;
    }
    void fail() noexcept {
        bad_ = true;
        p_ = end_;
    }
    const uint8_t* p_;
    const uint8_t* end_;
    bool bad_ = false;
};

}  // namespace eventide
