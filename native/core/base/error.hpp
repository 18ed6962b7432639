// Two kinds of trouble: Error is thrown at the caller of a verb; Failure is what went wrong in work and travels with
// failed markers to whoever waits for them.
#pragma once

#include <stdexcept>
#include <string>

#include "base/ref.hpp"

namespace eventide {

enum class ErrorKind { usage, type, value, device, stream, event, deadlock };

// Thrown by the core, turned into the Python exception of the same name by the bindings.
class Error : public std::runtime_error {
  public:
    Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind(kind) {}
    const ErrorKind kind;
};

// The first error of a stream. The bindings derive one that holds the Python exception.
class Failure : public RefCounted {
  public:
    explicit Failure(std::string message) : message(std::move(message)) {}
    const std::string message;
    // The stream went away and nobody had seen this error.
    virtual void report_unseen(const std::string& where) { (void)where; }
};

}  // namespace eventide
