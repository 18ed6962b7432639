// Columns that grow in place (realloc moves pages, not bytes) and are exported without a copy when they are complete.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

namespace eventide {

template <typename T>
class Column {
  public:
    Column() = default;
    Column(Column&& o) noexcept
        : data_(std::exchange(o.data_, nullptr)),
          size_(std::exchange(o.size_, 0)),
          capacity_(std::exchange(o.capacity_, 0)) {}
    Column& operator=(Column&& o) noexcept {
        std::swap(data_, o.data_);
        std::swap(size_, o.size_);
        std::swap(capacity_, o.capacity_);
        return *this;
    }
    ~Column() { std::free(data_); }

    void push(T value) {
        if (size_ == capacity_) reserve(size_ + 1);
        data_[size_++] = value;
    }
    void append(const T* values, size_t count) {
        if (size_ + count > capacity_) reserve(size_ + count);
        if (count) std::memcpy(static_cast<void*>(data_ + size_), values, count * sizeof(T));
        size_ += count;
    }
    void pad(size_t rows, T value) {
        while (size_ < rows) push(value);
    }
    T* data() const { return data_; }
    size_t size() const { return size_; }
    T& operator[](size_t i) const { return data_[i]; }

  private:
    void reserve(size_t least) {
        const size_t capacity = std::max(least, capacity_ + capacity_ / 2 + 64);
        T* data = static_cast<T*>(std::realloc(static_cast<void*>(data_), capacity * sizeof(T)));
        if (!data) throw std::bad_alloc();
        data_ = data;
        capacity_ = capacity;
    }

    T* data_ = nullptr;
    size_t size_ = 0;
    size_t capacity_ = 0;
};

// A column that most traces do not have: it has no rows until the first value is set.
template <typename T>
struct SparseColumn {
    Column<T> column;
    T null;

    void set(size_t row, T value) {
        column.pad(row, null);
        if (column.size() == row) {
            column.push(value);
        } else {
            column[row] = value;
        }
    }
    void finish(size_t rows) {
        if (column.size()) column.pad(rows, null);
    }
};

// Texts in Arrow's layout: 32-bit offsets into bytes, in chunks far below 2 GiB. An empty text is null.
class ChunkedTextColumn {
  public:
    struct Chunk {
        Column<int32_t> offsets;
        Column<char> bytes;
    };

    void push(std::string_view text) {
        if (chunks_.empty() || chunks_.back()->bytes.size() + text.size() > max_chunk_bytes) start();
        Chunk& chunk = *chunks_.back();
        chunk.bytes.append(text.data(), text.size());
        chunk.offsets.push(int32_t(chunk.bytes.size()));
        ++rows_;
    }
    void append_to_last(std::string_view text) {
        Chunk& chunk = *chunks_.back();
        chunk.bytes.append(text.data(), text.size());
        chunk.offsets[chunk.offsets.size() - 1] = int32_t(chunk.bytes.size());
    }
    size_t rows() const { return rows_; }
    size_t chunks() const { return chunks_.size(); }
    const Chunk& chunk(size_t i) const { return *chunks_[i]; }

  private:
    static constexpr size_t max_chunk_bytes = size_t(1) << 29;

    void start() {
        chunks_.push_back(std::make_unique<Chunk>());
        chunks_.back()->offsets.push(0);
    }

    std::vector<std::unique_ptr<Chunk>> chunks_;
    size_t rows_ = 0;
};

}  // namespace eventide
