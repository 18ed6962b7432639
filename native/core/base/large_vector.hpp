// A vector for columns of millions of rows, with large pages where it is large: page faults for each 4 KB took longer
// than filling them.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

namespace eventide {

template <class T>
struct LargePages {
    using value_type = T;

    LargePages() = default;
    template <class U>
    LargePages(const LargePages<U>&) {}

    static constexpr size_t page = size_t(2) << 20;
    static constexpr size_t large = 2 * page;  // smaller ones would waste most of their last page

    T* allocate(size_t count) {
        if (count > size_t(-1) / 2 / sizeof(T)) throw std::bad_array_new_length();
        const size_t bytes = count * sizeof(T);
        if (bytes < large) return static_cast<T*>(::operator new(bytes));
        const size_t rounded = (bytes + page - 1) / page * page;
        void* memory = std::aligned_alloc(page, rounded);
        if (!memory) throw std::bad_alloc();
        madvise(memory, rounded, MADV_HUGEPAGE);  // optional: a failure only costs speed
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, size_t count) noexcept {
        if (count * sizeof(T) < large)
            ::operator delete(memory);
        else
            std::free(memory);
    }
    template <class U>
    bool operator==(const LargePages<U>&) const {
        return true;
    }
};

template <class T>
using LargeVector = std::vector<T, LargePages<T>>;

}  // namespace eventide
