// Loaded before a program that runs under ASan (make test-asan): fork() waits until every other thread sleeps.
//
// ASan's allocator does not release its locks in the child of a fork, as that of glibc does. A thread that is inside
// malloc at that moment would leave a lock that the child waits for, without an end.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int most_tries = 20'000;  // of 100 us: a thread that never sleeps delays a fork by two seconds

bool sleeps(const char* thread) {
    char path[64], text[256] = {};
    std::snprintf(path, sizeof path, "/proc/self/task/%s/stat", thread);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return true;  // it has ended
    const bool complete = read(file, text, sizeof text - 1) > 0;
    close(file);
    const char* state = complete ? std::strrchr(text, ')') : nullptr;  // behind the name
    return state && state[1] && state[2] == 'S';
}

bool others_sleep() {
    DIR* threads = opendir("/proc/self/task");
    if (!threads) return true;
    const long own = syscall(SYS_gettid);
    bool all = true;
    while (const dirent* each = readdir(threads))
        if (each->d_name[0] != '.' && std::atol(each->d_name) != own && !sleeps(each->d_name)) all = false;
    closedir(threads);
    return all;
}

}  // namespace

extern "C" pid_t fork() {
    static auto* real = reinterpret_cast<pid_t (*)()>(dlsym(RTLD_NEXT, "fork"));
    int asleep = 0;  // in a row: a thread may be between two sleeps
    for (int n = 0; n < most_tries && asleep < 3; ++n) {
        asleep = others_sleep() ? asleep + 1 : 0;
        if (asleep < 3) usleep(100);
    }
    return real();
}
