// Helpers of the fuzz targets.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "encoding/json_text.hpp"

namespace eventide::fuzz {

inline void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "violated: %s\n", what);
    std::abort();
}

// Whether our own scanner reads the text as one object.
inline bool is_object(std::string_view given) {
    std::vector<char> text(given.begin(), given.end());
    text.resize(given.size() + json::PADDING);
    json::Scanner scan{text.data(), text.data() + given.size()};
    json::Value value;
    return scan.value(value) && value.kind == json::Kind::object && value.end == text.data() + given.size();
}

// A directory of this process in a memory file system.
inline const std::string& folder() {
    static const struct Folder {
        Folder() { std::filesystem::create_directory(path); }
        ~Folder() { std::filesystem::remove_all(path); }
        std::string path = "/dev/shm/eventide-fuzz-" + std::to_string(getpid());
    } made;
    return made.path;
}

// `size`: the size of the file, if larger than the bytes.
inline void write_file(const std::string& path, std::string_view bytes, size_t size = 0) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    require(fd >= 0 && write(fd, bytes.data(), bytes.size()) == ssize_t(bytes.size()), "the input can be written");
    require(size <= bytes.size() || ftruncate(fd, off_t(size)) == 0, "the input can be made longer");
    close(fd);
}

}  // namespace eventide::fuzz
