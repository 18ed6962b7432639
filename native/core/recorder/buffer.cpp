#include "recorder/buffer.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/file_lock.hpp"
#include "base/thread.hpp"
#include "encoding/hex.hpp"

namespace eventide::recorder {
namespace {

constexpr uint64_t page = 4096;

uint64_t pages(uint64_t bytes) noexcept {
    return (bytes + page - 1) / page * page;
}

// 0, or the error. The file is allocated to its last byte.
int allocate(const std::string& path, uint64_t bytes, int& fd) {
    fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return errno;
    (void)try_lock_file(fd);       // a file system without locks: recovery says so
    const WithoutSignals blocked;  // older kernels end an allocation in shared memory for a signal, and undo it
    if (const int error = posix_fallocate(fd, 0, off_t(bytes))) {
        close(fd);
        unlink(path.c_str());
        return error;
    }
    return 0;
}

// Held while the file of a buffer is open, and across a fork: a descriptor in the child would keep the memory and the
// lock of the file. The mapping, which keeps both from then on, is not inherited.
std::mutex fork_lock;
pthread_t freeing_thread;  // frees the last buffer; guarded by the lock, as the next one is
bool freeing = false;

void unlock_in_child() {
    freeing = false;  // that thread is the parent's
    fork_lock.unlock();
}

[[maybe_unused]] const int buffer_at_fork =
    pthread_atfork([] { fork_lock.lock(); }, [] { fork_lock.unlock(); }, unlock_in_child);

void finish_freeing_locked() {
    if (std::exchange(freeing, false)) pthread_join(freeing_thread, nullptr);
}

const struct AtExit {
    ~AtExit() {
        std::lock_guard lock(fork_lock);
        finish_freeing_locked();
    }
} at_exit;

void* free_buffer(void* buffer) {
    delete static_cast<Buffer*>(buffer);
    return nullptr;
}

}  // namespace

void free_in_background(Buffer&& buffer) {
    auto owned = std::make_unique<Buffer>(std::move(buffer));
    std::lock_guard lock(fork_lock);
    finish_freeing_locked();
    try {
        freeing_thread = start_joinable_thread(&free_buffer, owned.get());
        (void)owned.release();
        freeing = true;
    } catch (const Error&) {  // freed here, slowly
    }
}

std::string root_id() {
    struct stat root{};
    if (stat("/", &root) != 0) return "unknown";
    return std::to_string(root.st_dev) + "." + std::to_string(root.st_ino);
}

Buffer Buffer::make(const std::string& trace, uint64_t bytes, bool durable, bool ring, const uint8_t (&session)[16]) {
    if (bytes < smallest_buffer) bytes = smallest_buffer;
    const std::string beside = trace + ".buffer";
    const std::string shared =
        "/dev/shm/eventide-" + std::to_string(getpid()) + "-" + hex(session, 8) + "-" + root_id() + ".buffer";
    std::vector<std::string> places{beside};
    if (!durable) places.insert(places.begin(), shared);
    std::lock_guard lock(fork_lock);
    int fd = -1, error = 0;
    std::string path, tried;
    for (const std::string& place : places) {
        if (place == beside) ::unlink(place.c_str());  // of a recording that was killed and is being replaced
        error = allocate(place, bytes, fd);
        if (!error) {
            path = place;
            break;
        }
        tried += (tried.empty() ? "" : ", ") + place + ": " + std::strerror(error);
    }
    if (path.empty())
        throw Error(ErrorKind::device, "the recorder has no space for its buffer of " + std::to_string(bytes >> 20) +
                                           " MB (" + tried + "); make room or give Recorder a smaller buffer=");
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    error = errno;
    if (data != MAP_FAILED) madvise(data, bytes, MADV_DONTFORK);
    close(fd);  // the mapping keeps the lock
    if (data == MAP_FAILED) {
        ::unlink(path.c_str());
        throw Error(ErrorKind::device, "the recorder cannot map its buffer " + path + ": " + std::strerror(error));
    }
    Buffer out;
    out.data_ = static_cast<char*>(data);
    out.bytes_ = bytes;
    out.path_ = path;
    auto& h = *new (data) BufferHeader{};
    h.version = format_version;
    h.pid = uint32_t(getpid());
    std::memcpy(h.session, session, sizeof h.session);
    h.bytes = bytes;
    h.lanes_offset = pages(sizeof(BufferHeader));
    h.names_offset = pages(h.lanes_offset + sizeof(LaneRecord) * most_lanes);
    h.names_bytes = pages(bytes / 4);
    h.chunks_offset = h.names_offset + h.names_bytes;
    h.chunk_count = uint32_t((bytes - h.chunks_offset) / chunk_bytes);
    h.ring = ring;
    if (trace.size() < sizeof h.trace) trace.copy(h.trace, trace.size());
    std::memcpy(h.magic, buffer_magic, sizeof h.magic);
    return out;
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_), path_(std::move(other.path_)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(path_, other.path_);
    return *this;
}

Buffer::~Buffer() {
    if (data_) munmap(data_, bytes_);
}

void Buffer::unlink() noexcept {
    ::unlink(path_.c_str());
}

}  // namespace eventide::recorder
