// Fuzzes the reader of JAX's profiles: rows refer to existing rows, or the offset of the damage is in the file.
#include <cstddef>
#include <cstdint>

#include "formats/xplane/xplane_reader.hpp"
#include "fuzz.hpp"

using namespace eventide;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    try {
        const formats::XplaneContents c = formats::read_xplane({reinterpret_cast<const char*>(data), size});
        for (const formats::XplaneLine& line : c.lines) require(line.plane < c.planes.size(), "a line's plane exists");
        for (const formats::XplanePlane& plane : c.planes) require(fuzz::is_object(plane.stats), "statistics are JSON");
        for (const formats::XplaneEvent& e : c.events) {
            require(e.line >= 0 && size_t(e.line) < c.lines.size(), "an event's line exists");
            require(size_t(e.name) < c.texts.size() && size_t(e.args) < c.texts.size(), "an event's texts exist");
            require(e.start <= e.end, "an event ends after its start");
            require(!e.args || fuzz::is_object(c.texts[e.args]), "arguments are JSON");
        }
        for (const auto& [from, to] : c.arrows)
            require(from >= 0 && to >= 0 && size_t(from) < c.events.size() && size_t(to) < c.events.size(),
                    "an arrow's ends are events");
    } catch (const formats::XplaneDamaged& damaged) {
        require(damaged.offset <= size, "the damage is in the file");
    }
    return 0;
}
