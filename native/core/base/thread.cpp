#include "base/thread.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "base/error.hpp"

namespace eventide {

void start_thread(void* (*function)(void*), void* argument) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);  // the new thread inherits the mask
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    const int rc = pthread_create(&thread, &attributes, function, argument);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    if (rc)
        throw Error(ErrorKind::device, std::string("cannot start a worker thread: ") + std::strerror(rc) +
                                           "; close streams that are no longer needed");
}

void name_this_thread(const char* name) noexcept {
    pthread_setname_np(pthread_self(), name);
}

void park_thread() {
    for (;;) pause();
}

}  // namespace eventide
