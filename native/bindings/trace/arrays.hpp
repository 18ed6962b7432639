// Vectors of the core as numpy arrays that own them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <vector>

namespace eventide::python {

template <class T, class Allocator>
nanobind::object array(std::vector<T, Allocator>&& values) {
    using Vector = std::vector<T, Allocator>;
    auto* kept = new Vector(std::move(values));
    nanobind::capsule owner(kept, [](void* p) noexcept { delete static_cast<Vector*>(p); });
    return nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>(kept->data(), {kept->size()}, owner).cast();
}

}  // namespace eventide::python
