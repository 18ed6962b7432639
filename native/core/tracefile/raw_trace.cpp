#include "tracefile/raw_trace.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <set>
#include <system_error>

#include "base/error.hpp"
#include "base/file_lock.hpp"
#include "encoding/hex.hpp"
#include "encoding/json.hpp"
#include "tracefile/codec.hpp"
#include "tracefile/trace_file.hpp"

namespace eventide::tracefile {
namespace {

std::system_error system_error(const std::string& path) {
    return std::system_error(errno, std::generic_category(), path);
}

class File {
  public:
    explicit File(const std::string& path, int flags = O_RDONLY) : fd_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
    ~File() {
        if (fd_ >= 0) close(fd_);
    }
    explicit operator bool() const { return fd_ >= 0; }
    int fd() const { return fd_; }
    uint64_t size() const {
        struct stat s;
        return fstat(fd_, &s) ? 0 : uint64_t(s.st_size);
    }
    size_t read(void* to, uint64_t bytes, uint64_t offset) const {
        size_t done = 0;
        while (done < bytes) {
            const ssize_t n = pread(fd_, static_cast<char*>(to) + done, bytes - done, off_t(offset + done));
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) break;
            done += size_t(n);
        }
        return done;
    }

  private:
    int fd_;
};

// The text of one member of JSON that the recorder wrote; these members have no escapes.
std::string member(const std::string& json, const std::string& key) {
    const std::string mark = "\"" + key + "\": \"";
    const size_t from = json.find(mark);
    if (from == std::string::npos) return "";
    const size_t begin = from + mark.size(), end = json.find('"', begin);
    return end == std::string::npos ? "" : json.substr(begin, end - begin);
}

// A copy of one chunk of a buffer that may be in use; null if the chunk was reused meanwhile.
std::unique_ptr<Chunk> copy_chunk(const File& file, uint64_t offset) {
    uint64_t head[8], again = 0;
    if (file.read(head, sizeof head, offset) != sizeof head || !head[0]) return nullptr;
    const uint32_t used = std::min(uint32_t(head[1]), chunk_entries);
    if (!used) return nullptr;
    std::unique_ptr<Chunk> chunk(new Chunk);
    const size_t bytes = size_t(used) * sizeof(Entry);
    if (file.read(chunk->entries, bytes, offset + offsetof(Chunk, entries)) != bytes) return nullptr;
    if (file.read(&again, sizeof again, offset) != sizeof again || again != head[0]) return nullptr;
    chunk->serial.store(head[0], std::memory_order_relaxed);
    chunk->used.store(used, std::memory_order_relaxed);
    chunk->track = uint32_t(head[1] >> 32);
    return chunk;
}

// Empty: it cannot be read. False: its anchor was being changed at each try, as a killed process leaves it.
std::optional<bool> read_header(const File& file, BufferHeader& to) {
    uint64_t before = 0, after = 0;
    constexpr size_t seal = offsetof(BufferHeader, anchor_seal);
    for (int tries = 0; tries < 100; ++tries) {
        if (file.read(&before, sizeof before, seal) != sizeof before || file.read(&to, sizeof to, 0) != sizeof to ||
            file.read(&after, sizeof after, seal) != sizeof after)
            return std::nullopt;
        if (before == after && before % 2 == 0) return true;
    }
    return false;
}

void read_buffer(RawTrace& out, const std::string& head, const File& file) {
    BufferHeader h{};
    if (file.read(&h, sizeof h, 0) != sizeof h || std::memcmp(h.magic, buffer_magic, 8) != 0) return;
    if (h.version != format_version || hex(h.session, sizeof h.session) != member(head, "session")) return;
    // Numbers of a damaged header are limited by the size of the file.
    const uint64_t size = file.size(), count = std::min<uint64_t>(h.chunk_count, size / chunk_bytes);
    for (uint64_t i = 0; i < count; ++i)
        if (auto chunk = copy_chunk(file, h.chunks_offset + i * chunk_bytes)) out.left.push_back(std::move(chunk));
    // After the chunks: the names that they use were written before the chunks were published.
    BufferHeader now{};
    const std::optional<bool> consistent = read_header(file, now);
    if (!consistent) return;
    out.names.resize(std::min(now.names_used.load(), size));
    out.names.resize(file.read(out.names.data(), out.names.size(), h.names_offset));
    auto lanes = std::make_unique<LaneRecord[]>(most_lanes);
    file.read(lanes.get(), sizeof(LaneRecord) * most_lanes, h.lanes_offset);
    out.account = account_of(now, lanes.get(), most_lanes);
    if (*consistent) out.anchors.push_back({now.anchor_ticks, now.anchor_ns, now.anchor_width});
}

void take_frame(RawTrace& out, FrameType type, std::string_view payload, uint64_t offset) {
    switch (type) {
        case FrameType::head:
            out.head = payload;
            break;
        case FrameType::names: {
            uint64_t at = 0;
            if (payload.size() < 8)
                throw FormatError("a frame of names without its offset; copy the file again", offset);
            std::memcpy(&at, payload.data(), 8);
            payload.remove_prefix(8);
            out.names_in_file = std::max(out.names_in_file, at + payload.size());
            if (out.names.size() >= at + payload.size()) break;  // the buffer has them too
            if (out.names.size() < at)
                throw FormatError("a frame of names is missing before this one; copy the file again", offset);
            out.names.replace(at, std::string::npos, payload);
            break;
        }
        case FrameType::chunk:
            out.chunks.push_back(payload);
            break;
        case FrameType::anchor: {
            ticks::Anchor a;
            if (payload.size() != sizeof a)
                throw FormatError("an anchor frame of the wrong size; copy the file again", offset);
            std::memcpy(&a, payload.data(), sizeof a);
            out.anchors.push_back(a);
            break;
        }
        case FrameType::note:
            out.notes.emplace_back(payload);
            break;
        case FrameType::end:
            break;
    }
}

// Calls `take` for each frame up to the first incomplete or damaged one.
template <class Take>
uint64_t each_frame(std::string_view bytes, Take take, bool check = true) {
    uint64_t at = sizeof file_magic + 4;
    while (bytes.size() - at >= 12) {
        uint32_t head[3];
        std::memcpy(head, bytes.data() + at, sizeof head);
        if (head[1] > bytes.size() - at - 12) break;
        const std::string_view payload = bytes.substr(at + 12, head[1]);
        if (head[0] < 1 || head[0] > uint32_t(FrameType::end)) break;
        if (check && crc32(payload.data(), payload.size()) != head[2]) break;
        take(FrameType(head[0]), payload, at);
        at += 12 + head[1];
    }
    return at;
}

// Whether the last frame is the end frame; checksums are not verified.
bool seems_closed(std::string_view bytes) {
    bool closed = false;
    each_frame(bytes, [&](FrameType type, std::string_view, uint64_t) { closed = type == FrameType::end; }, false);
    return closed;
}

std::string first_frame(std::string_view bytes) {
    std::string head;
    each_frame(bytes, [&](FrameType type, std::string_view payload, uint64_t) {
        if (type == FrameType::head) head = payload;
    });
    return head;
}

// Only an end frame that is the last frame closes the file.
RawTrace& take_frames(RawTrace& out) {
    std::string_view last;
    out.good = each_frame(out.bytes, [&](FrameType type, std::string_view payload, uint64_t offset) {
        take_frame(out, type, payload, offset);
        out.closed = type == FrameType::end;
        out.without_end = out.closed ? offset : offset + 12 + payload.size();
        last = payload;
    });
    if (out.closed) out.account = last;
    return out;
}

std::string read_all(const std::string& path) {
    const File file(path);
    if (!file) throw system_error(path);
    std::string bytes(file.size(), '\0');
    bytes.resize(file.read(bytes.data(), bytes.size(), 0));
    return bytes;
}

void check_magic(std::string_view bytes) {
    if (bytes.size() < 12 || std::memcmp(bytes.data(), file_magic, 8) != 0)
        throw FormatError(bytes.empty() ? "an empty file: nothing was ever recorded to it; record again"
                                        : "not a trace file of Eventide; give a .eventide file",
                          0);
    uint32_t version;
    std::memcpy(&version, bytes.data() + 8, 4);
    if (version != format_version)
        throw FormatError("a trace file of version " + std::to_string(version) + "; this Eventide reads version " +
                              std::to_string(format_version),
                          8);
}

}  // namespace

std::string account_of(const BufferHeader& h, const LaneRecord* lanes, uint32_t count) {
    const auto by_kind = [](auto number) {
        json::Object out;
        for (int k = 1; k < kind_count; ++k) out.add(kind_names[k], number(k));
        return out.done();
    };
    const auto sum = [&](auto member, int kind) {
        uint64_t n = 0;
        for (uint32_t i = 0; i < count; ++i) n += (lanes[i].*member)[kind].load(std::memory_order_relaxed);
        return n;
    };
    json::Object out;
    out.add("dropped", by_kind([&](int k) { return sum(&LaneRecord::dropped, k); }));
    out.add("truncated", by_kind([&](int k) { return sum(&LaneRecord::truncated, k); }));
    out.add("overwritten", by_kind([&](int k) { return h.overwritten[k].load(std::memory_order_relaxed); }));
    out.add("names_lost", h.names_lost.load()).add("unattached", h.unattached.load());
    out.add("drainer_cpu_ns", h.drainer_cpu_ns.load()).add("write_error", h.write_error.load());
    out.add("threads", h.lanes_used.load());
    return out.done();
}

RawTrace load(const std::string& path) {
    RawTrace out;
    out.bytes = read_all(path);
    check_magic(out.bytes);
    if (!seems_closed(out.bytes) || !take_frames(out).closed) {
        const std::string head = first_frame(out.bytes);
        out = RawTrace();
        for (const std::string& place : {member(head, "buffer"), path + ".buffer"})
            if (const File buffer(place, O_RDONLY | O_NONBLOCK);
                buffer && out.buffer.empty()) {  // O_NONBLOCK: it may be a pipe
                read_buffer(out, head, buffer);
                if (!out.account.empty()) out.buffer = place;
            }
        out.bytes = read_all(path);
        take_frames(out);
    }
    if (out.head.empty()) throw FormatError("a trace file without its first frame; copy it again, or record again", 12);
    std::set<uint64_t> written;
    for (const std::string_view chunk : out.chunks) written.insert(head_of(chunk).serial);
    std::erase_if(out.left, [&](const auto& chunk) { return written.contains(chunk->serial.load()); });
    const auto serial = [](const auto& chunk) { return chunk->serial.load(); };
    std::sort(out.left.begin(), out.left.end(), [&](auto& x, auto& y) { return serial(x) < serial(y); });
    std::sort(out.anchors.begin(), out.anchors.end(), [](auto& x, auto& y) { return x.ticks < y.ticks; });
    return out;
}

namespace {

// The frames that are not in the file yet, and the end frame.
std::string rest_of(const RawTrace& raw, const std::string& note, const char* how) {
    std::string more;
    if (raw.names.size() > raw.names_in_file) {
        std::string payload(reinterpret_cast<const char*>(&raw.names_in_file), 8);
        payload.append(raw.names, raw.names_in_file);
        frame(FrameType::names, payload, more);
    }
    for (const auto& chunk : raw.left) {
        std::string payload;
        encode(*chunk, chunk->used.load(), payload);
        frame(FrameType::chunk, payload, more);
    }
    if (!raw.anchors.empty())
        frame(FrameType::anchor, {reinterpret_cast<const char*>(&raw.anchors.back()), sizeof(ticks::Anchor)}, more);
    if (!note.empty()) frame(FrameType::note, note, more);
    std::string account = raw.account.size() > 2 ? raw.account.substr(0, raw.account.size() - 1) + ", " : "{";
    frame(FrameType::end, account + json::quote(how) + ": true}", more);
    return more;
}

bool same_file(const std::string& one, const std::string& other) {
    struct stat a, b;
    return !stat(one.c_str(), &a) && !stat(other.c_str(), &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

void write_all(const File& file, std::string_view bytes, uint64_t offset, const std::string& path) {
    for (size_t done = 0; done < bytes.size();) {
        const ssize_t n = pwrite(file.fd(), bytes.data() + done, bytes.size() - done, off_t(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) throw system_error(path);
        done += size_t(n);
    }
}

bool has_ended(const File& buffer) {
    uint32_t pid = 0;
    return buffer.read(&pid, sizeof pid, offsetof(BufferHeader, pid)) == sizeof pid && pid &&
           kill(pid_t(pid), 0) != 0 && errno == ESRCH;
}

// A killed process may have its memory, and the lock with it, for longer: until a program that reads its cmdline or
// smaps in /proc has read it, which on a busy machine is long. A process with that number may be another one, or one of
// another container: the number decides only how long this waits.
FileLock take_lock_of_buffer(const File& buffer) {
    constexpr timespec pause{0, 10'000'000};
    for (int tries = 0;; ++tries) {
        const FileLock lock = try_lock_file(buffer.fd());
        if (lock != FileLock::held || tries >= (has_ended(buffer) ? 1000 : 50)) return lock;
        nanosleep(&pause, nullptr);
    }
}

}  // namespace

void recover(const std::string& path) {
    RawTrace raw = load(path);
    if (raw.closed) return;
    const File buffer(raw.buffer, O_RDWR);  // its lock is held until everything is saved
    const FileLock lock = buffer ? take_lock_of_buffer(buffer) : FileLock::free;
    if (lock == FileLock::held)
        throw Error(ErrorKind::usage, path + " is still being recorded; stop the recording, or its process, first");
    if (lock == FileLock::error) throw system_error(raw.buffer);
    // Until the lock was free, more was recorded, or the recording stopped and closed the file.
    if (buffer) raw = load(path);
    if (raw.closed) return;
    const std::string more = rest_of(raw, "", "recovered");
    const File file(path, O_RDWR);
    if (!file || ftruncate(file.fd(), off_t(raw.good)) != 0) throw system_error(path);
    write_all(file, more, raw.good, path);
    if (!raw.buffer.empty()) ::unlink(raw.buffer.c_str());
}

void copy(const std::string& path, const std::string& to, const std::string& note) {
    if (same_file(path, to))
        throw Error(ErrorKind::value, "a copy of " + path + " cannot take its place; name another file");
    const RawTrace raw = load(path);
    const std::string_view before = std::string_view(raw.bytes).substr(0, raw.without_end);
    const std::string more = rest_of(raw, note, "copied");
    const std::string part = to + ".part";  // renamed when it is complete
    try {
        const File file(part, O_RDWR | O_CREAT | O_TRUNC);
        if (!file) throw system_error(to);
        write_all(file, before, 0, to);
        write_all(file, more, before.size(), to);
        if (std::rename(part.c_str(), to.c_str()) != 0) throw system_error(to);
    } catch (...) {
        ::unlink(part.c_str());
        throw;
    }
}

}  // namespace eventide::tracefile
