// Columns of a trace, handed over as a dict of numpy arrays (anything with the buffer protocol will do). An array of
// another type is refused: a converted copy would be gone before its pointer is used.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <type_traits>

#include "base/error.hpp"
#include "formats/columns.hpp"

namespace eventide::python {

template <class T>
constexpr const char* type_name() {
    if constexpr (std::is_same_v<T, double>) return "float64";
    if constexpr (std::is_same_v<T, uint8_t>) return "uint8";
    if constexpr (std::is_same_v<T, uint64_t>) return "uint64";
    return sizeof(T) == 4 ? "int32" : "int64";
}

template <class T>
using InputArray = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

// The given object itself, as an array. Its data live as long as the object.
template <class T>
InputArray<T> input_array(nanobind::handle given, const char* name) {
    InputArray<T> out;
    if (nanobind::try_cast(given, out, false)) return out;
    const nanobind::object dtype = nanobind::getattr(given, "dtype", given.type());
    throw Error(ErrorKind::type, std::string(name) + " must be a contiguous array of one dimension and of type " +
                                     type_name<T>() + ", not " + nanobind::str(dtype).c_str());
}

// Holds the arrays while their pointers are in use, and checks that all of them have one length.
class Columns {
  public:
    Columns(nanobind::dict given, const char* first) : given_(std::move(given)) {
        rows_ = int64_t(input_array<int64_t>(find(first), first).size());
    }
    int64_t rows() const { return rows_; }

    template <class T>
    const T* get(const char* name) {
        const InputArray<T> array = input_array<T>(find(name), name);
        if (int64_t(array.size()) != rows_) throw Error(ErrorKind::value, std::string(name) + " has another length");
        return array.data();
    }
    // Row numbers of something that has `count` rows, or codes of a dictionary of so many.
    template <class T>
    const T* references(const char* name, int64_t count, bool nullable) {
        const T* values = get<T>(name);
        constexpr T null = sizeof(T) == 8 ? T(null_int64) : T(-1);
        for (int64_t row = 0; row < rows_; ++row)
            if ((values[row] < 0 || int64_t(values[row]) >= count) && !(nullable && values[row] == null))
                throw Error(ErrorKind::value, std::string(name) + " of row " + std::to_string(row) + " is " +
                                                  std::to_string(values[row]) + "; it must be less than " +
                                                  std::to_string(count));
        return values;
    }

  private:
    // The dict keeps the array alive.
    nanobind::object find(const char* name) const {
        if (!given_.contains(name)) throw Error(ErrorKind::value, std::string("there is no column ") + name);
        return nanobind::borrow(given_[name]);
    }
    nanobind::dict given_;
    int64_t rows_ = 0;
};

// (offsets: int64 array, data: bytes-like): the strings of an Arrow large_string array.
formats::Texts texts(nanobind::handle pair);

// Hands pieces to a Python callable that takes bytes; the caller has released the GIL.
class PythonSink final : public formats::Sink {
  public:
    explicit PythonSink(nanobind::callable write) : write_(std::move(write)) {}
    void write(std::string_view bytes) override {
        nanobind::gil_scoped_acquire acquire;
        write_(nanobind::bytes(bytes.data(), bytes.size()));
    }

  private:
    nanobind::callable write_;
};

}  // namespace eventide::python
