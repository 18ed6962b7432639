// Numbers in as few bytes as they need: seven bits a byte, the lowest first, the top bit says that more follow.
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

// Writes at p and returns what is behind; there must be room for longest_varint bytes.
inline uint8_t* put_varint(uint8_t* p, uint64_t v) noexcept {
    while (v >= 0x80) {
        *p++ = uint8_t(v) | 0x80;
        v >>= 7;
    }
    *p++ = uint8_t(v);
    return p;
}

// Bytes in a fixed place; what does not fit is left out and remembered.
class ByteWriter {
  public:
    ByteWriter(uint8_t* from, size_t size) noexcept : begin_(from), p_(from), end_(from + size) {}
    void byte(uint8_t v) noexcept {
        if (room(1)) *p_++ = v;
    }
    void varint(uint64_t v) noexcept {
        if (room(longest_varint)) p_ = put_varint(p_, v);
    }
    void signed_varint(int64_t v) noexcept { varint(zigzag(v)); }
    void raw(const void* bytes, size_t n) noexcept {
        if (!n || !room(n)) return;
        std::memcpy(p_, bytes, n);
        p_ += n;
    }
    bool room(size_t n) noexcept {
        if (size_t(end_ - p_) >= n) return true;
        full_ = true;
        return false;
    }
    bool full() const noexcept { return full_; }
    size_t size() const noexcept { return size_t(p_ - begin_); }
    const uint8_t* data() const noexcept { return begin_; }
    // Back to that many bytes, with room again.
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

// The other direction. Past the end it gives zeros and says so.
class ByteReader {
  public:
    ByteReader(const void* from, size_t size) noexcept : p_(static_cast<const uint8_t*>(from)), end_(p_ + size) {}
    explicit ByteReader(std::string_view bytes) noexcept : ByteReader(bytes.data(), bytes.size()) {}
    uint8_t byte() noexcept { return need(1) ? *p_++ : 0; }
    uint64_t varint() noexcept {
        uint64_t v = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (!need(1)) return 0;
            const uint8_t b = *p_++;
            v |= uint64_t(b & 0x7f) << shift;
            if (!(b & 0x80)) return v;
        }
        bad_ = true;
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
        bad_ = true;
        p_ = end_;
        return false;
    }
    const uint8_t* p_;
    const uint8_t* end_;
    bool bad_ = false;
};

}  // namespace eventide
