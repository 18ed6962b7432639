// The one file that knows CPython's frames. On 3.11 the interpreter's own frames are walked where they lie (10 frames:
// 60 ns); elsewhere the public API, which makes an object of each (some 550 ns).
#define Py_BUILD_CORE 1
#include "frames.hpp"

#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000
#define EVENTIDE_FRAME_INTERNALS 1
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#include <opcode.h>
#endif

#include <string>
#include <unordered_map>

#include "../core/error.hpp"
#include "../core/stacks.hpp"
#include "utf8.hpp"

namespace eventide::python {
namespace {

struct Code {
    std::string_view file;
    std::string_view function;
};

// Code objects in interned stacks, each held for ever: its address must not come to mean another. Guarded by the GIL.
std::unordered_map<PyCodeObject*, Code>& codes() {
    static auto* all = new std::unordered_map<PyCodeObject*, Code>;
    return *all;
}

// Frames of this code are there only because the program is watched. Held for ever; guarded by the GIL.
PyCodeObject* hidden = nullptr;

const Code& code_of(PyCodeObject* code) {
    auto [it, fresh] = codes().try_emplace(code);
    if (fresh) {
        Py_INCREF(code);
        it->second = {stacks::keep(utf8(code->co_filename)), stacks::keep(utf8(code->co_qualname))};
    }
    return it->second;
}

stacks::Frame resolve(const stacks::RawFrame& raw) {
    auto* code = static_cast<PyCodeObject*>(const_cast<void*>(raw.code));
    const Code& c = code_of(code);
    return {c.file, c.function, PyCode_Addr2Line(code, raw.instruction)};
}

#ifdef EVENTIDE_FRAME_INTERNALS
// 3.11 makes a call in two instructions, PRECALL and CALL, and once it is warm in the first alone: one call, one place.
stacks::RawFrame settle(const stacks::RawFrame& raw) {
    constexpr int precall_bytes = 2 * (1 + INLINE_CACHE_ENTRIES_PRECALL);
    auto* code = static_cast<PyCodeObject*>(const_cast<void*>(raw.code));
    PyObject* cold = PyCode_GetCode(code);  // the instructions as they were compiled
    if (!cold) {
        PyErr_Clear();
        return raw;
    }
    const auto* instructions = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(cold));
    const bool in_precall = raw.instruction >= 0 && instructions[raw.instruction] == PRECALL;
    Py_DECREF(cold);
    return {raw.code, in_precall ? raw.instruction + precall_bytes : raw.instruction};
}

uint32_t walk(PyThreadState* thread, stacks::RawFrame* out) {
    uint32_t n = 0;
    for (_PyInterpreterFrame* f = thread->cframe->current_frame; f && n < stacks::deepest; f = f->previous)
        if (!_PyFrame_IsIncomplete(f) && f->f_code != hidden)
            out[n++] = {f->f_code, _PyInterpreterFrame_LASTI(f) * int(sizeof(_Py_CODEUNIT))};
    return n;
}
#else
stacks::RawFrame settle(const stacks::RawFrame& raw) {
    return raw;
}

uint32_t walk(PyThreadState* thread, stacks::RawFrame* out) {
    uint32_t n = 0;
    for (PyFrameObject* f = PyThreadState_GetFrame(thread); f;) {
        PyCodeObject* code = PyFrame_GetCode(f);
        if (n < stacks::deepest && code != hidden) out[n++] = {code, PyFrame_GetLasti(f)};
        Py_DECREF(code);  // the frame holds it until intern() has
        PyFrameObject* back = PyFrame_GetBack(f);
        Py_DECREF(f);
        f = back;
    }
    return n;
}
#endif

uint32_t capture() {
    PyThreadState* thread = _PyThreadState_UncheckedGet();  // whoever holds the GIL
    if (!thread || thread != PyGILState_GetThisThreadState()) return 0;
    return capture_stack_of(thread);
}

}  // namespace

uint32_t capture_stack_of(PyThreadState* thread) {
    stacks::RawFrame frames[stacks::deepest];
    const uint32_t count = walk(thread, frames);
    return count ? stacks::intern(frames, count, {settle, resolve}) : 0;
}

void hide_code(PyObject* code) {
    if (!PyCode_Check(code)) throw Error(ErrorKind::type, "hide_code wants a code object");
    hidden = reinterpret_cast<PyCodeObject*>(Py_NewRef(code));
}

void install_stack_capture() {
    stacks::installed.store(capture, std::memory_order_relaxed);
}

}  // namespace eventide::python
