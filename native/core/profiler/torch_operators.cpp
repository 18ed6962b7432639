#include "profiler/torch_operators.hpp"

#include <dlfcn.h>

#include <array>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "profiler/torch_gradients.hpp"
#include "recorder/payload_records.hpp"
#include "recorder/recorder.hpp"

namespace eventide::torch {
namespace {

using recorder::Put;

// What torch passes to the end callback of an operator, and deletes: ObserverContext of its headers.
struct Begun {
    virtual ~Begun() = default;
    int64_t start = 0;
    uint32_t generation = 0;
    uint32_t track = 0;
    int exceptions = 0;  // being handled then
    int depth = 0;       // in Nest, from 1 on; 0: of a thread that is not muted
};

// The operators that run on a muted thread, outermost first. The other source records some of them, in detail; the
// others are recorded here: composite ones, and those inside the implementation of one with details.
struct Nest {
    static constexpr int most = 64;  // deeper ones are not recorded
    int depth = 0;
    uint64_t in_detail = 0;        // bit d: the other source records it
    const char* names[most] = {};  // each operator has one name, at one address
    const char* again = nullptr;   // the other source calls this one now, whose next call is not another operator
    bool hidden = false;           // the other source is at work for itself

    // Its depth, or 0: not to be recorded.
    int enter(const char* name) {
        const bool repeated = std::exchange(again, nullptr) == name && name;
        if (hidden || depth >= most) return 0;
        names[depth] = name;
        const uint64_t bit = uint64_t{1} << depth;
        in_detail = repeated ? in_detail | bit : in_detail & ~bit;
        return ++depth;
    }

    // Whether it is to be recorded.
    bool leave(int of) {
        depth = of - 1;
        again = nullptr;
        return !(in_detail >> depth & 1);
    }

    // torch reports the call of the other source as another operator, inside of the one that it is called for.
    void details(const char* name) {
        const auto is = [&](int at, const char* expected) {
            return at >= 0 && names[at] && std::strcmp(names[at], expected) == 0;
        };
        const bool called = is(depth - 1, "PythonDispatchMode");
        if (called) in_detail |= uint64_t{1} << (depth - 1);
        const int at = depth - 1 - called;
        if (!is(at, name)) return;
        in_detail |= uint64_t{1} << at;
        again = names[at];
    }
};

// RecordFunctionCallback of its headers. The probability is followed by one flag a scope and three other
// flags: with 6 to 13 scopes this is its size, and the flags that are not named here are not set.
struct Callback {
    std::unique_ptr<Begun> (*start)(const void* function);
    void (*end)(const void* function, Begun* begun);
    double probability;
    bool flags[16];
};
static_assert(sizeof(Callback) == 40);

struct Functions {
    uint64_t (*add)(Callback);
    void (*remove)(uint64_t);
    const char* (*name)(const void* function);
    uint64_t (*this_thread)();
};

std::mutex change;  // guards the next two; held across a fork, so that the child finds it free and them whole
[[maybe_unused]] const int at_fork =
    pthread_atfork([] { change.lock(); }, [] { change.unlock(); }, [] { new (&change) std::mutex; });
std::vector<uint64_t> handles;
void* library = nullptr;  // stays loaded
Functions functions;      // written before the first callback
std::atomic<uint64_t> recorded{0};

std::atomic<int> other_sources{0};  // of muted threads
thread_local constinit int muted = 0;
thread_local constinit Nest nest;
constexpr int gradient_look = 2;
thread_local constinit bool probing = false;  // this thread runs operators of the calibration, not of the program
thread_local constinit int probe_slot = -1;   // which of `seen` this thread's next operator (2: gradient) is stored in
std::array<Words, 3> seen;
Gradients gradients;

constexpr uint64_t outcome_bit = 1 << 4;  // in the mask of a span, see record.hpp

enum class Sort { operators, gradients, annotations };

std::string_view category(Sort sort, std::string_view name) {
    if (name.ends_with(" (dynamo_timed)")) return "compile";
    return sort == Sort::annotations ? "annotation" : "op";
}

template <Sort sort>
std::unique_ptr<Begun> starts(const void* function) {
    if (__builtin_expect(probing, false)) {
        if (probe_slot >= 0 && (probe_slot == gradient_look) == (sort == Sort::gradients))
            std::memcpy(&seen[size_t(std::exchange(probe_slot, -1))], function, sizeof(Words));
        return nullptr;
    }
    int depth = 0;
    if (sort != Sort::annotations && operators_muted()) {  // only operators have another source
        depth = nest.enter(functions.name(function));
        if (!depth) return nullptr;
    }
    const uint32_t generation = recorder::on.load(std::memory_order_relaxed);
    Put put(generation, recorder::WithoutThreadName());  // torch has released the GIL
    if (!put) {
        if (depth) nest.leave(depth);
        return nullptr;
    }
    auto begun = std::make_unique<Begun>();
    begun->depth = depth;
    begun->generation = generation;
    begun->track = put.lane().track;
    begun->exceptions = std::uncaught_exceptions();
    begun->start = now_ns();
    if (depth) return begun;
    const Gradients::Place place{begun->start, begun->track, generation};
    if constexpr (sort == Sort::operators) gradients.forward(function, functions.this_thread, place);
    if constexpr (sort == Sort::gradients) gradients.backward(function, put, place);
    return begun;
}

template <Sort sort>
void ends(const void* function, Begun* begun) {
    if (!begun) return;
    const int64_t end = now_ns();
    if (begun->depth && !nest.leave(begun->depth)) return;
    Put put(begun->generation, recorder::WithoutThreadName());
    if (!put) return;
    const char* given = functions.name(function);
    const std::string_view name = given ? given : "";
    uint8_t bytes[4 * longest_varint];
    ByteWriter out(bytes, sizeof bytes);
    out.varint(begun->track == put.lane().track ? 0 : begun->track);  // some end on another thread
    out.varint(put.name(category(sort, name)));
    out.varint(0);  // no stack
    if (std::uncaught_exceptions() > begun->exceptions) {
        out.varint(outcome_bit);
        out.varint(put.name("failed"));
    } else {
        out.varint(0);
    }
    if (put.with_payload(recorder::Kind::span, put.name(name), uint64_t(begun->start), uint64_t(end), out.data(),
                         out.size()))
        recorded.fetch_add(1, std::memory_order_relaxed);
}

template <class F>
void find(F& function, const char* symbol) {
    function = reinterpret_cast<F>(dlsym(library, symbol));
    if (!function) throw Error(ErrorKind::device, std::string("libtorch_cpu.so has no ") + symbol);
}

void find_functions() {
    if (library) return;
    library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
    if (!library) throw Error(ErrorKind::device, "libtorch_cpu.so is not loaded");
    try {
        find(functions.add, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
        find(functions.remove, "_ZN2at14removeCallbackEm");
        find(functions.name, "_ZNK2at14RecordFunction4nameEv");
        find(functions.this_thread, "_ZN2at14RecordFunction15currentThreadIdEv");
    } catch (...) {
        library = nullptr;
        throw;
    }
}

template <Sort sort>
void add_locked(uint32_t scopes) {
    if (!scopes) return;
    Callback callback{starts<sort>, ends<sort>, 1.0, {}};
    for (size_t scope = 0; scope < 13; ++scope) callback.flags[scope] = scopes >> scope & 1;
    handles.push_back(functions.add(callback));
}

}  // namespace

void start_operators(const Scopes& scopes) {
    std::lock_guard lock(change);
    if (!handles.empty()) return;
    if ((scopes.operators | scopes.gradients | scopes.annotations) >> 13)
        throw Error(ErrorKind::device, "this torch has more scopes than are known");
    find_functions();
    add_locked<Sort::operators>(scopes.operators);
    add_locked<Sort::gradients>(scopes.gradients);
    add_locked<Sort::annotations>(scopes.annotations);
}

void stop_operators() noexcept {
    std::lock_guard lock(change);
    for (const uint64_t handle : handles) functions.remove(handle);
    handles.clear();
}

void set_other_source(bool on) noexcept {
    other_sources.fetch_add(on ? 1 : -1, std::memory_order_relaxed);
}

void mute_operators(bool on) noexcept {
    muted += on ? 1 : -1;
}

void operator_in_detail(const char* name) noexcept {
    nest.details(name);
}

void hide_operators(bool on) noexcept {
    nest.hidden = on;
}

bool operators_muted() noexcept {
    return muted > 0 && other_sources.load(std::memory_order_relaxed) > 0;
}

uint64_t operators_recorded() noexcept {
    return recorded.load(std::memory_order_relaxed);
}

void probe_operator(int which) noexcept {
    probe_slot = which;
    probing = true;
}

bool operator_probed() noexcept {
    probing = false;
    return std::exchange(probe_slot, -1) < 0;
}

bool calibrate_sequence_numbers(int64_t first, int64_t second, int64_t gradient) noexcept {
    return gradients.find_offsets(seen, {first, second, gradient}, functions.this_thread ? functions.this_thread() : 0);
}

}  // namespace eventide::torch
