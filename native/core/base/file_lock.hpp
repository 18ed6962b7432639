// A lock on a file, held until the last descriptor of this opening is closed. Unlike with flock(), another process can
// test it without taking it for a moment, in which a third would find the file locked.
#pragma once

#include <fcntl.h>

#include <cerrno>

namespace eventide {

enum class FileLock { free, held, error };  // `error`: errno says which

namespace detail {

inline struct flock whole_file() noexcept {
    struct flock all{};  // l_pid must be 0
    all.l_type = F_WRLCK;
    all.l_whence = SEEK_SET;
    return all;
}

}  // namespace detail

// Takes the lock of a file opened for writing: `free` if it was, and so is ours now.
inline FileLock try_lock_file(int fd) noexcept {
    struct flock all = detail::whole_file();
    if (fcntl(fd, F_OFD_SETLK, &all) == 0) return FileLock::free;
    return errno == EAGAIN || errno == EACCES ? FileLock::held : FileLock::error;
}

// Whether another opening of the file holds its lock.
inline FileLock test_file_lock(int fd) noexcept {
    struct flock all = detail::whole_file();
    if (fcntl(fd, F_OFD_GETLK, &all) != 0) return FileLock::error;
    return all.l_type == F_UNLCK ? FileLock::free : FileLock::held;
}

}  // namespace eventide
