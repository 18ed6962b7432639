// Fuzzes the reader of .eventide files: any file is read or refused, and a recovered file reads the same. The target
// corrects the checksums, so that they do not stop the fuzzer.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "recording.hpp"

using namespace eventide;
using namespace eventide::tracefile;

namespace {

void write_checksums(std::string& bytes) {
    for (size_t at = 12; at + 12 <= bytes.size();) {
        uint32_t size = 0;
        std::memcpy(&size, bytes.data() + at + 4, 4);
        if (size > bytes.size() - at - 12) return;
        const uint32_t checksum = crc32(bytes.data() + at + 12, size);
        std::memcpy(bytes.data() + at + 8, &checksum, 4);
        at += 12 + size;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string bytes(reinterpret_cast<const char*>(data), size);
    write_checksums(bytes);
    const std::string path = fuzz::folder() + "/a.eventide";
    fuzz::write_file(path, bytes);
    fuzz::check_recording(path);
    return 0;
}
