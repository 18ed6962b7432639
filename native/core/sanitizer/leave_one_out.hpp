// The join of all items but one, for each of them: n log n joins instead of n squared.
#pragma once

#include <cstddef>

namespace eventide::sanitizer {

// Calls visit(i, others) for the items [begin, end), the last first: `others` is the sum of `outside` and of all other
// items. add(sum, i) joins item i, or nothing once visit has dropped it.
template <class Sum, class Add, class Visit>
void leave_one_out(size_t begin, size_t end, const Sum& outside, const Add& add, const Visit& visit) {
    if (begin == end) return;
    if (end - begin == 1) return visit(begin, outside);
    const size_t middle = begin + (end - begin) / 2;
    const auto with = [&](size_t from, size_t to) {
        Sum sum = outside;
        for (size_t i = from; i < to; ++i) add(sum, i);
        return sum;
    };
    leave_one_out(middle, end, with(begin, middle), add, visit);
    leave_one_out(begin, middle, with(middle, end), add, visit);
}

}  // namespace eventide::sanitizer
