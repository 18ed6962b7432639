#include "bindings/types/hot_span.hpp"

#include <bit>
#include <cstring>
#include <vector>

#include "base/stacks.hpp"
#include "bindings/base/exception.hpp"
#include "bindings/types/span_arguments.hpp"
#include "recorder/recorder.hpp"

namespace eventide::python {
namespace {

using recorder::Kind;
using recorder::Put;

// A span that was entered and not left. number 0: nothing was recorded of it.
struct Open {
    uint32_t number;
    uint32_t track;
    uint32_t generation;
    PyObject* annotation;  // of the other profiler that was entered too; owned, mostly null
};

constexpr int inline_values = 3;

// One object may be entered again before it is left, by recursion or by other threads: `open` is the newest, the others
// wait in `outer`. The GIL guards all of it.
struct Span {
    PyObject_HEAD;
    PyObject* name;
    PyObject* keys;                   // tuple of names, or nothing
    PyObject* values[inline_values];  // of the arguments
    PyObject* more;                   // tuple of all of them, if they are more
    uint32_t number;                  // of the name, in that recording
    uint32_t generation;
    uint32_t depth;
    Open open;
    std::vector<Open>* outer;
};

PyTypeObject span_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyObject* decorator = nullptr;
PyObject* annotator = nullptr;  // makes the annotations of another profiler while that runs

Span* free_list[64];
int free_count = 0;

PyObject* const* values_of(Span* s) {
    return s->more ? &PyTuple_GET_ITEM(s->more, 0) : s->values;
}

void push(Span* s, const Open& open) {
    if (s->depth++) {
        if (!s->outer) s->outer = new std::vector<Open>;
        s->outer->push_back(s->open);
    }
    s->open = open;
}

// The newest that this thread entered; if it entered none, the newest of all.
Open pop(Span* s) {
    if (!s->depth) return {};
    if (--s->depth == 0) return s->open;
    std::vector<Open>& outer = *s->outer;
    const recorder::Lane* lane = recorder::this_lane;
    Open found = s->open;
    size_t at = outer.size();
    if (lane && s->open.track != lane->track)
        for (size_t i = outer.size(); i-- > 0;)
            if (outer[i].track == lane->track) {
                found = outer[i];
                at = i;
                break;
            }
    if (at == outer.size()) {
        s->open = outer.back();
        outer.pop_back();
    } else {
        outer.erase(outer.begin() + long(at));
    }
    return found;
}

// With arguments: they are encoded before the record is put, because that may run Python code.
Open begin_with(Span* s, uint32_t generation, uint32_t stack) {
    uint8_t bytes[recorder::largest_payload];
    ByteWriter out(bytes, sizeof bytes);
    const bool cut = add_arguments(out, s->keys, values_of(s), generation);
    Put put(generation);
    if (!put) return {};
    const uint32_t number = ++put.lane().spans;
    if (cut) put.count_truncated(Kind::begin);
    if (!put.with_payload(Kind::begin, s->number, number, put.stack(stack), out.data(), out.size())) return {};
    return {number, put.lane().track, generation, nullptr};
}

Open begin(Span* s, uint32_t generation) {
    if (__builtin_expect(s->generation != generation, false)) {
        s->number = name_number(s->name, generation);
        s->generation = generation;
    }
    const uint32_t stack = recorder::captures_stacks.load(std::memory_order_relaxed) ? stacks::capture() : 0;
    if (s->keys) return begin_with(s, generation, stack);
    Put put(generation);
    if (!put) return {};
    const uint32_t number = ++put.lane().spans;
    if (!put.one(Kind::begin, s->number, number, put.stack(stack))) return {};
    return {number, put.lane().track, generation, nullptr};
}

// annotator(name) is a context manager. Its errors are dropped: the span is recorded without it.
PyObject* annotate(PyObject* name) {
    PyObject* made = PyObject_CallOneArg(annotator, name);
    PyObject* entered = made ? PyObject_CallMethod(made, "__enter__", nullptr) : nullptr;
    if (!entered) {
        PyErr_Clear();
        Py_CLEAR(made);
    }
    Py_XDECREF(entered);
    return made;
}

void end_annotation(PyObject* annotation) {
    const KeptException kept;
    PyObject* left = PyObject_CallMethod(annotation, "__exit__", "OOO", Py_None, Py_None, Py_None);
    if (!left) PyErr_Clear();
    Py_XDECREF(left);
    Py_DECREF(annotation);
}

// Leaving a generator early is no error.
uint32_t error_number(PyObject* type, uint32_t generation) {
    if (!PyType_Check(type) || type == PyExc_GeneratorExit) return 0;
    PyObject* name = PyType_GetQualName((PyTypeObject*)type);
    const uint32_t number = name ? name_number(name, generation) : 0;
    if (!name) PyErr_Clear();
    Py_XDECREF(name);
    return number;
}

PyObject* span_enter(PyObject* self, PyObject*) {
    auto* s = (Span*)self;
    const uint32_t generation = recorder::on.load(std::memory_order_relaxed);
    Open open = __builtin_expect(generation != 0, true) ? begin(s, generation) : Open{};
    if (__builtin_expect(annotator != nullptr, false)) open.annotation = annotate(s->name);
    if (__builtin_expect(s->depth, 0))
        push(s, open);
    else
        s->depth = 1, s->open = open;
    return Py_NewRef(self);
}

PyObject* span_exit(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
    auto* s = (Span*)self;
    Open open;
    if (__builtin_expect(s->depth == 1, true))
        s->depth = 0, open = s->open;
    else
        open = pop(s);
    if (__builtin_expect(open.annotation != nullptr, false)) end_annotation(open.annotation);
    if (open.number && recorder::on.load(std::memory_order_relaxed) == open.generation) {
        const uint32_t error = nargs && args[0] != Py_None ? error_number(args[0], open.generation) : 0;
        if (Put put(open.generation); put) put.one(Kind::end, error, open.number, open.track);
    }
    Py_RETURN_NONE;
}

Span* make(PyObject* name) {
    Span* s;
    if (free_count) {
        s = free_list[--free_count];
        (void)PyObject_Init((PyObject*)s, &span_type);
    } else {
        s = PyObject_New(Span, &span_type);
        if (!s) return nullptr;
        s->outer = nullptr;
        s->more = nullptr;
        s->keys = nullptr;
    }
    s->name = Py_NewRef(name);
    s->generation = 0;
    s->depth = 0;
    return s;
}

void set_arguments(Span* s, PyObject* keys, PyObject* const* values) {
    const Py_ssize_t n = keys ? PyTuple_GET_SIZE(keys) : 0;
    if (!n) return;
    if (n > inline_values) {
        s->more = PyTuple_New(n);
        if (!s->more) {
            PyErr_Clear();  // it loses its arguments, not its name
            return;
        }
        for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(s->more, i, Py_NewRef(values[i]));
    } else {
        for (Py_ssize_t i = 0; i < n; ++i) s->values[i] = Py_NewRef(values[i]);
    }
    s->keys = Py_NewRef(keys);
}

PyObject* span_call_type(PyObject*, PyObject* const* args, size_t nargsf, PyObject* keys) {
    const Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (n != 1) return raise(ErrorKind::type, "span() takes one name and keyword arguments, %zd names were given", n);
    if (!PyUnicode_Check(args[0]))
        return raise(ErrorKind::type, "span() needs a name as its first argument, not %s", Py_TYPE(args[0])->tp_name);
    Span* s = make(args[0]);
    if (s && keys) set_arguments(s, keys, args + n);
    if (s) s->number = 0;
    return (PyObject*)s;
}

void span_dealloc(PyObject* self) {
    auto* s = (Span*)self;
    while (__builtin_expect(s->depth != 0, false)) {  // entered and never left
        const Open open = pop(s);
        Py_XDECREF(open.annotation);
    }
    if (__builtin_expect(s->keys != nullptr, false)) {
        const Py_ssize_t n = PyTuple_GET_SIZE(s->keys);
        for (Py_ssize_t i = 0; !s->more && i < n; ++i) Py_DECREF(s->values[i]);
        Py_CLEAR(s->more);
        Py_CLEAR(s->keys);
    }
    if (s->outer) {
        delete s->outer;
        s->outer = nullptr;
    }
    Py_DECREF(s->name);
    if (free_count < int(std::size(free_list)))
        free_list[free_count++] = s;
    else
        PyObject_Free(self);
}

// The same name and arguments, not entered: for each call of a generator or a coroutine.
PyObject* span_copy(PyObject* self, PyObject*) {
    auto* s = (Span*)self;
    Span* copy = make(s->name);
    if (!copy) return nullptr;
    copy->number = s->number;
    copy->generation = s->generation;
    set_arguments(copy, s->keys, values_of(s));
    return (PyObject*)copy;
}

PyObject* span_decorate(PyObject* self, PyObject* args, PyObject* kwargs) {
    PyObject* function;
    if ((kwargs && PyDict_GET_SIZE(kwargs)) || !PyArg_ParseTuple(args, "O", &function)) {
        PyErr_Clear();
        return raise(ErrorKind::type, "a span decorates one function: @span(\"name\")");
    }
    if (!PyCallable_Check(function))
        return raise(ErrorKind::type, "a span decorates a function, not %s", Py_TYPE(function)->tp_name);
    if (!decorator) return raise(ErrorKind::usage, "import eventide before decorating with its native span");
    return PyObject_CallFunctionObjArgs(decorator, self, function, nullptr);
}

PyObject* span_repr(PyObject* self) {
    return PyUnicode_FromFormat("<span %R>", ((Span*)self)->name);
}

PyObject* span_name(PyObject* self, void*) {
    return Py_NewRef(((Span*)self)->name);
}

PyMethodDef span_methods[] = {
    {"__enter__", span_enter, METH_NOARGS, "__enter__($self, /)\n--\n\n"},
    {"__exit__", (PyCFunction)(void (*)(void))span_exit, METH_FASTCALL, "__exit__($self, /, *exception)\n--\n\n"},
    {"_copy", span_copy, METH_NOARGS, "_copy($self, /)\n--\n\nA new span of the same name and arguments."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef span_getset[] = {{"name", span_name, nullptr, "The name that was given.", nullptr},
                             {nullptr, nullptr, nullptr, nullptr, nullptr}};

// ---- instants and counters -----------------------------------------------------------------------------------------

PyObject* instant(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* keys) {
    if (nargs != 1 || !PyUnicode_Check(args[0]))
        return raise(ErrorKind::type, "instant() takes one name, a str, and keyword arguments");
    const uint32_t generation = recorder::on.load(std::memory_order_relaxed);
    if (!generation) Py_RETURN_NONE;
    const uint32_t name = name_number(args[0], generation);
    const uint32_t stack = recorder::captures_stacks.load(std::memory_order_relaxed) ? stacks::capture() : 0;
    uint8_t bytes[recorder::largest_payload];
    ByteWriter out(bytes, sizeof bytes);
    const bool cut = keys && add_arguments(out, keys, args + nargs, generation);
    Put put(generation);
    if (!put) Py_RETURN_NONE;
    if (cut) put.count_truncated(Kind::instant);
    if (out.size())
        put.with_payload(Kind::instant, name, 0, put.stack(stack), out.data(), out.size());
    else
        put.one(Kind::instant, name, 0, put.stack(stack));
    Py_RETURN_NONE;
}

PyObject* counter(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
    if (nargs != 2 || !PyUnicode_Check(args[0]))
        return raise(ErrorKind::type, "counter() takes a name, a str, and a value, a number");
    const double value = PyFloat_AsDouble(args[1]);
    if (value == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return raise(ErrorKind::type, "counter() takes a number as its value, not %s", Py_TYPE(args[1])->tp_name);
    }
    const uint32_t generation = recorder::on.load(std::memory_order_relaxed);
    if (!generation) Py_RETURN_NONE;
    const uint32_t name = name_number(args[0], generation);
    if (Put put(generation); put) put.one(Kind::counter, name, std::bit_cast<uint64_t>(value), 0);
    Py_RETURN_NONE;
}

}  // namespace

PyMethodDef span_functions[] = {
    {"instant", (PyCFunction)(void (*)(void))instant, METH_FASTCALL | METH_KEYWORDS,
     "instant($module, name, /, **args)\n--\n\nRecords a point in time on this thread. Without a recording it costs a "
     "few nanoseconds."},
    {"counter", (PyCFunction)(void (*)(void))counter, METH_FASTCALL,
     "counter($module, name, value, /)\n--\n\nRecords the value of a counter, valid from now on."},
    {nullptr, nullptr, 0, nullptr},
};

PyTypeObject* make_span_type() {
    span_type.tp_name = "eventide._native.span";
    span_type.tp_basicsize = sizeof(Span);
    span_type.tp_flags = Py_TPFLAGS_DEFAULT;
    span_type.tp_doc =
        "span(name, /, **args)\n--\n\nA piece of host code with a name: `with span(\"load\", batch=3): ...`, or "
        "`@span(\"load\")`\nabove a function, a generator or a coroutine. One span object may be entered again and "
        "again, also by\nrecursion and by several threads.";
    span_type.tp_methods = span_methods;
    span_type.tp_getset = span_getset;
    span_type.tp_dealloc = span_dealloc;
    span_type.tp_repr = span_repr;
    span_type.tp_call = span_decorate;
    span_type.tp_vectorcall = span_call_type;
    if (PyType_Ready(&span_type) < 0) return nullptr;
    return (PyTypeObject*)Py_NewRef((PyObject*)&span_type);
}

void set_span_annotator(PyObject* make) {
    Py_XSETREF(annotator, make == Py_None ? nullptr : Py_NewRef(make));
}

void set_span_helpers(PyObject* decorate, PyObject* describe) {
    Py_XSETREF(decorator, Py_NewRef(decorate));
    set_describer(describe);
}

}  // namespace eventide::python
