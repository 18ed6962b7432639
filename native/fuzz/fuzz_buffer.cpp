// Fuzzes the buffer that a killed process leaves beside its .eventide file: the input is the start of the buffer.
// Magic, version and session are corrected, so that the reader accepts it, and zeros follow: space for some chunks.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "recording.hpp"

using namespace eventide;
using namespace eventide::tracefile;

namespace {

std::string file_without_end() {
    std::string out(file_magic, sizeof file_magic);
    out.append(reinterpret_cast<const char*>(&format_version), 4);
    frame(FrameType::head, "{\"session\": \"00000000000000000000000000000000\"}", out);
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const std::string file = file_without_end();
    std::string bytes(reinterpret_cast<const char*>(data), size);
    bytes.resize(std::max(size, sizeof(BufferHeader)));
    std::memcpy(bytes.data(), buffer_magic, sizeof buffer_magic);
    std::memcpy(bytes.data() + offsetof(BufferHeader, version), &format_version, 4);
    std::memset(bytes.data() + offsetof(BufferHeader, session), 0, 16);
    const std::string path = fuzz::folder() + "/b.eventide";
    fuzz::write_file(path, file);
    fuzz::write_file(path + ".buffer", bytes, 2 * chunk_bytes);
    fuzz::check_recording(path);
    unlink((path + ".buffer").c_str());
    return 0;
}
