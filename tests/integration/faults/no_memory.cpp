// Preloaded into a child: of the allocations of C++ code in the calling thread one fails.
#include <cstdlib>
#include <new>

static thread_local long countdown = -1;
static thread_local long failed = 0;

// The allocation after `n` others fails.
extern "C" void fail_after(long n) {
    countdown = n;
    failed = 0;
}

// Ends that; how many failed: 0 if there were not so many.
extern "C" long end_failing() {
    countdown = -1;
    return failed;
}

void* operator new(std::size_t size) {
    if (countdown >= 0 && countdown-- == 0) {
        ++failed;
        throw std::bad_alloc();
    }
    if (void* memory = std::malloc(size ? size : 1)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
