// BufferBase: memory of a device, with the buffer protocol and DLPack where the host can see it.
#include <string>

#include "bindings/base/bind.hpp"
#include "bindings/devices/dlpack.hpp"
#include "bindings/types/hot_stream.hpp"
#include "runtime/device.hpp"
#include "runtime/memory.hpp"
#include "runtime/stream.hpp"

namespace nb = nanobind;

namespace eventide::python {
namespace {

struct PyBuffer {
    Ref<Memory> memory;
    Py_ssize_t exports = 0;  // memoryviews and arrays over it; the GIL guards it

    Memory& usable() const {
        if (!memory) throw Error(ErrorKind::usage, "this Buffer was never initialised; make one with eventide.empty()");
        if (memory->freed())
            throw Error(ErrorKind::usage,
                        "this Buffer was freed; its memory may be in use for something else; make another one with "
                        "eventide.empty()");
        return *memory;
    }
};

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
    auto* b = nb::inst_ptr<PyBuffer>(self);
    view->obj = nullptr;
    if (!b->memory || b->memory->freed()) {
        raise(ErrorKind::usage,
              "this Buffer was freed; its memory may be in use for something else; make another one with "
              "eventide.empty()");
        return -1;
    }
    if (!b->memory->host_visible) {
        PyErr_Format(PyExc_BufferError,
                     "the host cannot see memory of %s (no 'host_visible'); copy it to a host array with Stream.copy",
                     devices::name(b->memory->device).c_str());
        return -1;
    }
    if (PyBuffer_FillInfo(view, self, b->memory->data, Py_ssize_t(b->memory->bytes), 0, flags) < 0) return -1;
    ++b->exports;
    return 0;
}

void release_buffer(PyObject* self, Py_buffer*) {
    --nb::inst_ptr<PyBuffer>(self)->exports;
}

PyType_Slot slots[] = {
    {Py_bf_getbuffer, (void*)get_buffer},
    {Py_bf_releasebuffer, (void*)release_buffer},
    {0, nullptr},
};

}  // namespace

void bind_memory(nb::module_& m) {
    m.def(
        "buffer_address",
        [](nb::object view) {
            Py_buffer b;
            if (PyObject_GetBuffer(view.ptr(), &b, PyBUF_STRIDED_RO) < 0) nb::raise_python_error();
            const auto address = uint64_t(b.buf);
            PyBuffer_Release(&b);
            return address;
        },
        nb::arg("view"), "The address of the first item of anything with the buffer protocol.");
    m.def(
        "dlpack_layout", [](nb::object capsule) { return nb::steal(read_dlpack(capsule.ptr())); }, nb::arg("capsule"),
        "(address, shape, strides in bytes or None, itemsize) of the memory behind a DLPack capsule.");
    m.def(
        "set_copy_watcher", [](nb::object watcher) { set_copy_watcher(watcher.ptr()); }, nb::arg("watcher").none(),
        "Called with each end of a copy.");
    nb::class_<PyBuffer>(m, "BufferBase", nb::type_slots(slots), nb::is_weak_referenceable(),
                         "The native half of eventide.Buffer.")
        .def(
            "__init__",
            [](PyBuffer* self, const char* type, int index, Py_ssize_t bytes) {
                Device* d = devices::find(type);
                if (!d) throw Error(ErrorKind::value, std::string("there is no device type '") + type + "'");
                new (self)
                    PyBuffer{as_verb([&] { return Memory::allocate({d->number, int16_t(index)}, size_t(bytes)); })};
            },
            nb::arg("device_type"), nb::arg("index"), nb::arg("nbytes"))
        .def_prop_ro(
            "nbytes", [](const PyBuffer& b) { return b.memory->bytes; }, "Its size.")
        .def_prop_ro(
            "ptr", [](const PyBuffer& b) { return uint64_t(b.usable().data); }, "Its address.")
        .def_prop_ro(
            "freed", [](const PyBuffer& b) { return b.memory->freed(); }, "True after free().")
        .def("__len__", [](const PyBuffer& b) { return b.memory->bytes; })
        .def(
            "free",
            [](PyBuffer& b) {
                if (b.exports) drop_what_is_due();  // copies that are complete
                if (b.exports) {
                    PyErr_Format(PyExc_BufferError,
                                 "cannot free a Buffer while %zd memoryviews or arrays over it exist", b.exports);
                    nb::raise_python_error();
                }
                as_verb([&b] {
                    b.memory->free();
                    return true;
                });
            },
            "Frees the memory, once the streams given to record_stream have passed this point. Idempotent.")
        .def(
            "record_stream",
            [](PyBuffer& b, nb::object stream) {
                if (!is_stream(stream.ptr()))
                    throw Error(ErrorKind::type,
                                std::string("record_stream needs a Stream, not ") + Py_TYPE(stream.ptr())->tp_name);
                b.usable().record_stream(*stream_core(stream.ptr()));
            },
            nb::arg("stream").none(), "Work queued on stream up to free() may use the memory: it is kept until then.")
        .def(
            "_dlpack",
            [](nb::object self, bool versioned) {
                Memory& memory = nb::cast<PyBuffer&>(self).usable();
                nb::object view = nb::steal(PyMemoryView_FromObject(self.ptr()));  // counts as an export while it lives
                if (!view.is_valid()) nb::raise_python_error();
                return nb::steal(make_dlpack(memory.data, memory.bytes, view.ptr(), versioned));
            },
            nb::arg("versioned"), "A DLPack capsule of the bytes.")
        .def_prop_ro("_device", [](const PyBuffer& b) {
            return nb::make_tuple(nb::str(devices::at(b.memory->device.type).type().c_str()),
                                  int(b.memory->device.index));
        });
}

}  // namespace eventide::python
