#include "base/thread.hpp"

#include <unistd.h>

#include <cstring>
#include <string>

#include "base/error.hpp"

namespace eventide {

pthread_t start_joinable_thread(void* (*function)(void*), void* argument) {
    const WithoutSignals blocked;  // the new thread inherits the mask
    pthread_t thread;
    const int rc = pthread_create(&thread, nullptr, function, argument);
    if (rc)
        throw Error(ErrorKind::device, std::string("cannot start a worker thread: ") + std::strerror(rc) +
                                           "; close streams that are no longer needed");
    return thread;
}

void start_thread(void* (*function)(void*), void* argument) {
    pthread_detach(start_joinable_thread(function, argument));
}

void name_this_thread(const char* name) noexcept {
    pthread_setname_np(pthread_self(), name);
}

void park_thread() {
    for (;;) pause();
}

}  // namespace eventide
