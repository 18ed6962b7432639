// Preloaded into a child: writes to regular files fail as FAULT says, as long as the file FAULT_WHILE exists.
//   short   at most 7 bytes a call, and EINTR before each of them
//   full N  ENOSPC for all files together after N bytes
//   sync    fdatasync fails with EIO
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long written;
static _Thread_local int interrupted;

static int active(int fd, const char* kind) {
    const char *fault = getenv("FAULT"), *flag = getenv("FAULT_WHILE");
    struct stat s;
    return fault && flag && !strncmp(fault, kind, strlen(kind)) && !access(flag, F_OK) && !fstat(fd, &s) &&
           S_ISREG(s.st_mode);
}

// How many bytes to write; -1 with errno set: none.
static ssize_t allowed(int fd, size_t size) {
    if (active(fd, "short")) {
        interrupted = !interrupted;
        if (interrupted) return errno = EINTR, -1;
        return size < 7 ? (ssize_t)size : 7;
    }
    if (active(fd, "full")) {
        const long room = atol(getenv("FAULT") + 5) - atomic_load(&written);
        if (room <= 0) return errno = ENOSPC, -1;
        if ((size_t)room < size) size = (size_t)room;
        atomic_fetch_add(&written, (long)size);
    }
    return (ssize_t)size;
}

ssize_t write(int fd, const void* data, size_t size) {
    static ssize_t (*next)(int, const void*, size_t);
    if (!next) next = (ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
    const ssize_t n = allowed(fd, size);
    return n < 0 ? n : next(fd, data, (size_t)n);
}

ssize_t pwrite(int fd, const void* data, size_t size, off_t at) {
    static ssize_t (*next)(int, const void*, size_t, off_t);
    if (!next) next = (ssize_t(*)(int, const void*, size_t, off_t))dlsym(RTLD_NEXT, "pwrite64");
    const ssize_t n = allowed(fd, size);
    return n < 0 ? n : next(fd, data, (size_t)n, at);
}

ssize_t pwrite64(int fd, const void* data, size_t size, off_t at) {
    return pwrite(fd, data, size, at);
}

int fdatasync(int fd) {
    if (active(fd, "sync")) return errno = EIO, -1;
    static int (*next)(int);
    if (!next) next = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    return next(fd);
}
