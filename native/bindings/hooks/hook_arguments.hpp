// The arguments that the callbacks of each hook get, and the record that is made from such arguments.
#pragma once

#include <vector>

#include "bindings/base/python.hpp"
#include "hooks/hub.hpp"

namespace eventide::python {

struct HookArity {
    int count;
    const char* names;
};
const HookArity& arity_of(Hook hook);

inline constexpr int most_arguments = 5;

// Fills out with new references and returns how many there are.
int make_arguments(const HookRecord& record, PyObject** out);

// A record together with the memory its accesses lie in.
struct GivenRecord {
    HookRecord r;
    std::vector<Access> reads, writes;
};
// What is not a number becomes 0; there are as many arguments as the hook has.
void read_arguments(Hook hook, PyObject* const* args, int nargs, GivenRecord& out);

}  // namespace eventide::python
