// Two kinds of errors: Error is thrown to the caller of a function; Failure is an error of asynchronous work, which
// failed markers carry to the threads that wait for them.
#pragma once

#include <stdexcept>
#include <string>

#include "base/ref.hpp"

namespace eventide {

enum class ErrorKind { usage, type, value, device, stream, event, deadlock };

// Thrown by the core; the bindings convert it to the Python exception of the same name.
class Error : public std::runtime_error {
  public:
    Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind(kind) {}
    const ErrorKind kind;
};

// The first error of a stream. The bindings derive a class that holds the Python exception.
class Failure : public RefCounted {
  public:
    explicit Failure(std::string message) : message(std::move(message)) {}
    const std::string message;
    // Called when the stream is destroyed and this error was never returned to a caller.
    virtual void report_unseen(const std::string& where) { (void)where; }
};

}  // namespace eventide
