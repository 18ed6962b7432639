#include "dlpack.hpp"

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
    drop_later(e->owner);
    delete e;
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

bool read_dlpack(PyObject* capsule, Access& out) {
    const Tensor* t = nullptr;
    if (PyCapsule_IsValid(capsule, versioned_name))
        t = &static_cast<ManagedVersioned*>(PyCapsule_GetPointer(capsule, versioned_name))->tensor;
    else if (PyCapsule_IsValid(capsule, plain_name))
        t = &static_cast<Managed*>(PyCapsule_GetPointer(capsule, plain_name))->tensor;
    if (!t) {
        raise(ErrorKind::type, "__dlpack__() must give an unused DLPack capsule");
        return false;
    }
    const int64_t item = (int64_t(t->dtype.bits) * t->dtype.lanes + 7) / 8;
    int64_t low = 0, high = 0, dense = 1;
    for (int32_t i = t->ndim; i-- > 0;) {
        const int64_t span = (t->shape[i] - 1) * (t->strides ? t->strides[i] : dense);
        dense *= t->shape[i];
        (span < 0 ? low : high) += span;
    }
    const auto base = int64_t(t->data) + int64_t(t->byte_offset);
    out = {uint64_t(base + low * item), dense ? uint64_t((high - low + 1) * item) : 0};
    return true;
}

}  // namespace eventide::python
