// Vectors of the core as numpy arrays that own them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <type_traits>
#include <utility>

namespace eventide::python {

// Vector: std::vector or ZeroedVector.
template <class Vector>
    requires std::is_rvalue_reference_v<Vector&&>
nanobind::object array(Vector&& values) {
    using T = std::remove_reference_t<decltype(*values.data())>;
    auto* kept = new Vector(std::move(values));
    nanobind::capsule owner(kept, [](void* p) noexcept { delete static_cast<Vector*>(p); });
    return nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>(kept->data(), {kept->size()}, owner).cast();
}

}  // namespace eventide::python
