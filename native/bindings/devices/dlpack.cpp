#include "bindings/devices/dlpack.hpp"

#include <dlpack/dlpack.h>

#include "bindings/base/python.hpp"

namespace eventide::python {
namespace {

constexpr const char* plain_name = "dltensor";
constexpr const char* versioned_name = "dltensor_versioned";

template <class M>
struct Export {
    M managed;
    int64_t shape;
    int64_t stride = 1;
    PyObject* owner;
};

// May be called by any thread, with or without the GIL.
template <class M>
void destroy(M* managed) {
    auto* e = static_cast<Export<M>*>(managed->manager_ctx);
    PyObject* owner = e->owner;
    delete e;
    if (state_with_gil())
        Py_DECREF(owner);  // at once: the program may free the Buffer next
    else
        drop_later(owner);
}

// A consumer renames the capsule: with its own name it was not consumed.
template <class M>
void destroy_capsule(PyObject* capsule) {
    for (const char* name : {plain_name, versioned_name})
        if (PyCapsule_IsValid(capsule, name)) destroy(static_cast<M*>(PyCapsule_GetPointer(capsule, name)));
}

template <class M>
PyObject* make(void* data, size_t bytes, PyObject* owner, const char* name) {
    auto* e = new Export<M>{{}, int64_t(bytes), 1, Py_NewRef(owner)};
    e->managed.dl_tensor = {data, {kDLCPU, 0}, 1, {kDLUInt, 8, 1}, &e->shape, &e->stride, 0};
    e->managed.manager_ctx = e;
    e->managed.deleter = destroy<M>;
    if constexpr (requires { e->managed.version; }) e->managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    PyObject* capsule = PyCapsule_New(&e->managed, name, destroy_capsule<M>);
    if (!capsule) destroy(&e->managed);
    return capsule;
}

}  // namespace

PyObject* make_dlpack(void* data, size_t bytes, PyObject* owner, bool versioned) {
    return versioned ? make<DLManagedTensorVersioned>(data, bytes, owner, versioned_name)
                     : make<DLManagedTensor>(data, bytes, owner, plain_name);
}

PyObject* read_dlpack(PyObject* capsule) {
    const DLTensor* t = nullptr;
    if (PyCapsule_IsValid(capsule, versioned_name))
        t = &static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, versioned_name))->dl_tensor;
    else if (PyCapsule_IsValid(capsule, plain_name))
        t = &static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, plain_name))->dl_tensor;
    if (!t) return raise(ErrorKind::type, "__dlpack__() must give an unused DLPack capsule");
    const int64_t item = (int64_t(t->dtype.bits) * t->dtype.lanes + 7) / 8;
    PyObject* shape = PyTuple_New(t->ndim);
    PyObject* strides = t->strides ? PyTuple_New(t->ndim) : Py_NewRef(Py_None);
    for (int32_t i = 0; shape && strides && i < t->ndim; ++i) {
        PyTuple_SET_ITEM(shape, i, PyLong_FromLongLong(t->shape[i]));
        if (t->strides) PyTuple_SET_ITEM(strides, i, PyLong_FromLongLong(t->strides[i] * item));
    }
    const auto address = (unsigned long long)t->data + t->byte_offset;
    return Py_BuildValue("KNNL", address, shape, strides, (long long)item);
}

}  // namespace eventide::python
