// How the parts of a stream hand things to its device; for stream*.cpp only.
#pragma once

#include <mutex>

#include "stream.hpp"

namespace eventide {

// Gives the device its next items in stream order: prepare() takes the position under m_ (false: nothing to do), tell()
// calls the device, under m_ too if the device tells, under order_ alone if it is asked.
template <class Prepare, class Tell>
bool Stream::in_order(Prepare prepare, Tell tell) {
    if (polled_) {
        std::lock_guard order(order_);
        {
            std::lock_guard lock(m_);
            if (!prepare()) return false;
        }
        tell();
    } else {
        std::lock_guard lock(m_);
        if (!prepare()) return false;
        tell();
    }
    return true;
}

}  // namespace eventide
