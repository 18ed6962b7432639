#include "recorder/stale_buffers.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/file_lock.hpp"
#include "encoding/hex.hpp"
#include "recorder/buffer.hpp"
#include "tracefile/record.hpp"

namespace eventide::recorder {
namespace {

namespace fs = std::filesystem;

// Without blocking: the path may be a pipe of another user.
class Opened {
  public:
    explicit Opened(const char* path)
        : fd_(open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)), error_(fd_ < 0 ? errno : 0) {}
    ~Opened() {
        if (fd_ >= 0) close(fd_);
    }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
    int error() const { return error_; }
    bool unlocked() const { return test_file_lock(fd_) == FileLock::free; }
    template <class T>
    bool read(T& to) const {
        return pread(fd_, &to, sizeof to, 0) == ssize_t(sizeof to);
    }
    std::string start() const {
        std::string bytes(1 << 16, '\0');
        const ssize_t n = pread(fd_, bytes.data(), bytes.size(), 0);
        bytes.resize(n > 0 ? size_t(n) : 0);
        return bytes;
    }

  private:
    const int fd_;
    const int error_;
};

// Whether the trace file of this recording exists, or may exist.
bool has_file(const BufferHeader& h) {
    const Opened file(h.trace);
    if (file.error()) return file.error() != ENOENT && file.error() != ENOTDIR;
    return file.start().find("\"session\": \"" + hex(h.session, sizeof h.session)) !=
           std::string::npos;  // in the first frame
}

bool is_stale(const fs::path& path) {
    const Opened buffer(path.c_str());
    BufferHeader h;
    if (buffer.error() || !buffer.unlocked() || !buffer.read(h)) return false;
    if (std::memcmp(h.magic, buffer_magic, sizeof h.magic) != 0 || h.version != format_version) return false;
    h.trace[sizeof h.trace - 1] = 0;
    return h.trace[0] && !has_file(h);
}

}  // namespace

void remove_stale_buffers() noexcept try {
    std::error_code error;
    // Of this root only: a path of another container that shares /dev/shm means another file here, or none.
    const std::string ending = "-" + root_id() + ".buffer";
    for (fs::directory_iterator it("/dev/shm", error), end; !error && it != end; it.increment(error)) {
        const std::string name = it->path().filename().string();
        if (name.starts_with("eventide-") && name.ends_with(ending) && is_stale(it->path()))
            ::unlink(it->path().c_str());
    }
} catch (...) {  // no memory: the next recording tries again
}

}  // namespace eventide::recorder
