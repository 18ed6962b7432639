// The one file that depends on the layout of CPython's frames. In the versions whose layout it has (3.11 to 3.14) it
// walks the interpreter's own frames in place; in a later one it uses the public API, which allocates an object for
// each frame. docs/recording.md has the cost of both.
#define Py_BUILD_CORE 1
#include "bindings/base/frames.hpp"

#include <opcode.h>

#if PY_VERSION_HEX < 0x030e0000
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#elif PY_VERSION_HEX < 0x030f0000
#include <internal/pycore_interpframe.h>
#endif

#include <string>
#include <unordered_map>

#include "base/error.hpp"
#include "base/stacks.hpp"
#include "bindings/base/utf8.hpp"

namespace eventide::python {
namespace {

struct Code {
    std::string_view file;
    std::string_view function;
};

// Code objects in interned stacks, each held forever: its address must not be reused for another. Guarded by the GIL.
std::unordered_map<PyCodeObject*, Code>& codes() {
    static auto* all = new std::unordered_map<PyCodeObject*, Code>;
    return *all;
}
[[maybe_unused]] const auto& at_load = codes();  // before any fork, which could find it half made

// Frames of this code are there only because the program is observed. Held forever; guarded by the GIL.
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

// One place for one call. An instruction is followed by its cache entries, and the interpreter may stop at either:
// before 3.13 a call of Python code stops at the last entry, and a property is such a call only once the code is
// warm. 3.11 makes a call in two instructions, PRECALL and CALL, and warm code in the first alone.
stacks::RawFrame normalize(const stacks::RawFrame& raw) {
    auto* code = static_cast<PyCodeObject*>(const_cast<void*>(raw.code));
    PyObject* cold = PyCode_GetCode(code);  // the instructions as they were compiled, each cache entry 0
    if (!cold) {
        PyErr_Clear();
        return raw;
    }
    const auto* instructions = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(cold));
    int32_t at = raw.instruction;
    while (at > 0 && instructions[at] == CACHE) at -= int32_t(sizeof(uint16_t));
#if PY_VERSION_HEX < 0x030c0000
    if (at >= 0 && instructions[at] == PRECALL) at += 2 * (1 + INLINE_CACHE_ENTRIES_PRECALL);
#endif
    Py_DECREF(cold);
    return {raw.code, at};
}

#if PY_VERSION_HEX < 0x030f0000
_PyInterpreterFrame* innermost(PyThreadState* thread) {
#if PY_VERSION_HEX < 0x030d0000
    return thread->cframe->current_frame;
#else
    return thread->current_frame;
#endif
}

PyCodeObject* code_in(_PyInterpreterFrame* f) {
#if PY_VERSION_HEX < 0x030d0000
    return f->f_code;
#else
    return _PyFrame_GetCode(f);
#endif
}

uint32_t walk(PyThreadState* thread, stacks::RawFrame* out) {
    uint32_t n = 0;
    for (_PyInterpreterFrame* f = innermost(thread); f && n < stacks::deepest; f = f->previous) {
        if (_PyFrame_IsIncomplete(f)) continue;  // also the interpreter's own: an entry from C, a trampoline
        PyCodeObject* code = code_in(f);
        if (code != hidden) out[n++] = {code, _PyInterpreterFrame_LASTI(f) * int(sizeof(_Py_CODEUNIT))};
    }
    return n;
}
#else
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
    PyThreadState* thread = state_with_gil();
    return thread ? capture_stack_of(thread) : 0;
}

}  // namespace

uint32_t capture_stack_of(PyThreadState* thread) {
    stacks::RawFrame frames[stacks::deepest];
    const uint32_t count = walk(thread, frames);
    return count ? stacks::intern(frames, count, {normalize, resolve}) : 0;
}

void hide_code(PyObject* code) {
    if (!PyCode_Check(code)) throw Error(ErrorKind::type, "hide_code needs a code object");
    hidden = reinterpret_cast<PyCodeObject*>(Py_NewRef(code));
}

void cut_caller(PyObject* exception, PyFrameObject* caller) {
    PyObject* trace = PyException_GetTraceback(exception);
    if (!trace) return;
    PyFrameObject* frame = ((PyTracebackObject*)trace)->tb_frame;
    PyFrameObject* back = PyFrame_GetBack(frame);
    // The first member in all versions, set when the frame has completed. What the public API returns confirms it.
    auto*& link = *reinterpret_cast<PyFrameObject**>(reinterpret_cast<char*>(frame) + sizeof(PyObject));
    if (back && link == back && (!caller || caller == back)) Py_CLEAR(link);
    Py_XDECREF(back);
    Py_DECREF(trace);
}

void install_stack_capture() {
    stacks::installed.store(capture, std::memory_order_relaxed);
}

}  // namespace eventide::python
