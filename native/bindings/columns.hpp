// Columns of a trace, handed over as a dict of numpy arrays (anything with the buffer protocol will do).
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>

#include "../core/columns.hpp"
#include "../core/error.hpp"

namespace eventide::python {

// Holds the arrays while their pointers are in use, and checks that all of them have one length.
class Columns {
  public:
    Columns(nanobind::dict given, const char* first) : given_(std::move(given)) {
        rows_ = int64_t(nanobind::cast<Array<int64_t>>(find(first)).size());
    }
    int64_t rows() const { return rows_; }

    template <class T>
    const T* get(const char* name) {
        auto array = nanobind::cast<Array<T>>(find(name));
        if (int64_t(array.size()) != rows_) throw Error(ErrorKind::value, std::string(name) + " has another length");
        return array.data();
    }

  private:
    template <class T>
    using Array = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

    // The dict keeps the array alive.
    nanobind::object find(const char* name) const {
        if (!given_.contains(name)) throw Error(ErrorKind::value, std::string("there is no column ") + name);
        return nanobind::borrow(given_[name]);
    }
    nanobind::dict given_;
    int64_t rows_ = 0;
};

// (offsets: int64 array, data: bytes-like): the strings of an Arrow large_string array.
trace::Texts texts(nanobind::handle pair);

// Hands pieces to a Python callable that takes bytes; the caller has released the GIL.
class PythonSink final : public trace::Sink {
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
