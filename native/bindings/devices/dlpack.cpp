#include "bindings/devices/dlpack.hpp"

#include "bindings/base/python.hpp"

namespace eventide::python {
namespace {

struct Device {
    int32_t type, id;
};
struct DataType {
    uint8_t code, bits;
    uint16_t lanes;
};
struct Tensor {
    void* data;
    Device device;
    int32_t ndim;
    DataType dtype;
    int64_t* shape;
    int64_t* strides;
    uint64_t byte_offset;
};
struct Managed {
    Tensor tensor;
    void* context;
    void (*deleter)(Managed*);
};
struct ManagedVersioned {
    uint32_t major, minor;
    void* context;
    void (*deleter)(ManagedVersioned*);
    uint64_t flags;
    Tensor tensor;
};
static_assert(sizeof(Tensor) == 48 && sizeof(Managed) == 64 && sizeof(ManagedVersioned) == 80);

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
    auto* e = static_cast<Export<M>*>(managed->context);
    PyObject* owner = e->owner;
    delete e;
    if (state_with_gil())
        Py_DECREF(owner);  // who dropped the array may free the Buffer next
    else
        drop_later(owner);
}

// A capsule that nobody consumed still has its name.
template <class M>
void destroy_capsule(PyObject* capsule) {
    for (const char* name : {plain_name, versioned_name})
        if (PyCapsule_IsValid(capsule, name)) destroy(static_cast<M*>(PyCapsule_GetPointer(capsule, name)));
}

template <class M>
PyObject* make(void* data, size_t bytes, PyObject* owner, const char* name) {
    auto* e = new Export<M>{{}, int64_t(bytes), 1, Py_NewRef(owner)};
    e->managed.tensor = {data, {1, 0}, 1, {1, 8, 1}, &e->shape, &e->stride, 0};
    e->managed.context = e;
    e->managed.deleter = destroy<M>;
    if constexpr (requires { e->managed.major; }) e->managed.major = 1;
    PyObject* capsule = PyCapsule_New(&e->managed, name, destroy_capsule<M>);
    if (!capsule) destroy(&e->managed);
    return capsule;
}

}  // namespace

PyObject* make_dlpack(void* data, size_t bytes, PyObject* owner, bool versioned) {
    return versioned ? make<ManagedVersioned>(data, bytes, owner, versioned_name)
                     : make<Managed>(data, bytes, owner, plain_name);
}

PyObject* read_dlpack(PyObject* capsule) {
    const Tensor* t = nullptr;
    if (PyCapsule_IsValid(capsule, versioned_name))
        t = &static_cast<ManagedVersioned*>(PyCapsule_GetPointer(capsule, versioned_name))->tensor;
    else if (PyCapsule_IsValid(capsule, plain_name))
        t = &static_cast<Managed*>(PyCapsule_GetPointer(capsule, plain_name))->tensor;
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
