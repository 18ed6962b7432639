// For the search for exceptions of failed work that only cycles keep (types/failure_cycles.cpp). All with the GIL.
#pragma once

#include <vector>

#include "bindings/base/python.hpp"

namespace eventide::python {

// What restore_tracebacks() calls at its end.
void set_cycle_search(void (*search)());

// The exceptions that the program was given, whose failures live, and for which the time of the next search has come.
// Borrowed.
std::vector<PyObject*> exceptions_to_search();
// This one refers to so much that it is searched at the longest interval from now on.
void search_seldom(PyObject* exception);

// An exception to which nothing outside of its own cycles refers.
struct Unreachable {
    PyObject* exception;  // borrowed
    bool busy;            // work is queued that may still fail with it
};
// Takes the frames of the program out of these exceptions. One that is unreachable without frames too is replaced in
// its failures, so that Python's collector finds no reference but those of its cycle.
void break_cycles(const std::vector<Unreachable>& found);

}  // namespace eventide::python
