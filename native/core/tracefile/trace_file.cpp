#include "tracefile/trace_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "tracefile/codec.hpp"

namespace eventide::tracefile {

void frame(FrameType type, std::string_view payload, std::string& out) {
    const uint32_t head[3] = {uint32_t(type), uint32_t(payload.size()), crc32(payload.data(), payload.size())};
    out.append(reinterpret_cast<const char*>(head), sizeof head);
    out.append(payload);
}

TraceFile::TraceFile(const std::string& path)
    : fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    int error = fd_ < 0 ? errno : 0;
    if (!error) {
        char head[12];
        std::memcpy(head, file_magic, 8);
        std::memcpy(head + 8, &format_version, 4);
        error = append({head, sizeof head});
    }
    if (error) {
        if (fd_ >= 0) ::close(fd_);
        throw std::system_error(error, std::generic_category(), path);
    }
}

TraceFile::TraceFile(TraceFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

TraceFile& TraceFile::operator=(TraceFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(size_, other.size_);
    return *this;
}

TraceFile::~TraceFile() {
    close();
}

void TraceFile::close() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

int TraceFile::append(std::string_view bytes) noexcept {
    if (fd_ < 0) return EBADF;
    size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t n = pwrite(fd_, bytes.data() + done, bytes.size() - done, off_t(size_ + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            const int error = n < 0 ? errno : ENOSPC;
            if (done && ftruncate(fd_, off_t(size_)) != 0) return error;  // the checksum detects an incomplete frame
            return error;
        }
        done += size_t(n);
    }
    size_ += bytes.size();
    return 0;
}

int TraceFile::sync() noexcept {
    return fdatasync(fd_) ? errno : 0;
}

}  // namespace eventide::tracefile
