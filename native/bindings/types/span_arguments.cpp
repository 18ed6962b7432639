#include "bindings/types/span_arguments.hpp"

#include <algorithm>

#include "bindings/base/utf8.hpp"

namespace eventide::python {
namespace {

using recorder::ArgumentType;

constexpr size_t longest_text = 8 << 10;
PyObject* describer = nullptr;

// Names that were looked up, by the address of the object, which is held. A collision replaces.
struct Known {
    PyObject* name;
    uint32_t generation;
    uint32_t number;
};
Known known[1024] = {};

void add_text(ByteWriter& out, ArgumentType type, std::string_view text, bool& cut) {
    if (text.size() > longest_text) {
        size_t n = longest_text;
        while (n && (uint8_t(text[n]) & 0xc0) == 0x80) --n;
        text = text.substr(0, n);
        type = ArgumentType::cut_text;
        cut = true;
    }
    out.byte(uint8_t(type));
    out.varint(text.size());
    out.raw(text.data(), text.size());
}

// JSON of any value; one that cannot be described becomes the name of its type.
std::string described(PyObject* value) {
    PyObject* text = describer ? PyObject_CallOneArg(describer, value) : nullptr;
    std::string out = text ? utf8(text) : std::string("\"<") + Py_TYPE(value)->tp_name + ">\"";
    if (!text) PyErr_Clear();
    Py_XDECREF(text);
    return out;
}

void add_value(ByteWriter& out, PyObject* value, bool& cut) {
    if (value == Py_None) return out.byte(uint8_t(ArgumentType::none));
    if (PyBool_Check(value)) return out.byte(uint8_t(value == Py_True ? ArgumentType::yes : ArgumentType::no));
    if (PyLong_CheckExact(value)) {
        int overflow = 0;
        const long long n = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (!overflow) {
            out.byte(uint8_t(ArgumentType::whole));
            return out.signed_varint(n);
        }
    }
    if (PyFloat_CheckExact(value)) {
        const double d = PyFloat_AS_DOUBLE(value);
        out.byte(uint8_t(ArgumentType::real));
        return out.raw(&d, sizeof d);
    }
    if (PyUnicode_Check(value)) return add_text(out, ArgumentType::text, utf8(value), cut);
    const std::string json = described(value);
    add_text(out, ArgumentType::json, json, cut);
}

}  // namespace

uint32_t name_number(PyObject* name, uint32_t generation) {
    Known& k = known[(reinterpret_cast<uintptr_t>(name) >> 4) % std::size(known)];
    if (k.name == name && k.generation == generation) return k.number;
    uint32_t number = 0;
    {
        recorder::Put put(generation);
        if (!put) return 0;
        Py_ssize_t size;
        if (const char* plain = PyUnicode_AsUTF8AndSize(name, &size)) {
            number = put.name({plain, size_t(size)});
        } else {
            PyErr_Clear();
            number = put.name(utf8(name));
        }
    }
    PyObject* before = k.name;
    k = {Py_NewRef(name), generation, number};
    Py_XDECREF(before);
    return number;
}

bool add_arguments(ByteWriter& out, PyObject* names, PyObject* const* values, uint32_t generation) {
    bool cut = false;
    const Py_ssize_t count = PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < count; ++i) {
        const size_t before = out.size();
        out.varint(name_number(PyTuple_GET_ITEM(names, i), generation));
        add_value(out, values[i], cut);
        if (!out.full()) continue;
        out.cut(before);
        return true;
    }
    return cut;
}

void set_describer(PyObject* describe) {
    Py_XSETREF(describer, Py_NewRef(describe));
}

}  // namespace eventide::python
