// The content of the payloads of records (record.hpp). Numbers are varints; z: signed.
//
//   arguments   until the end: name of the key, type, value. Types: none, false, true, integer (z), double (8
//               bytes), text (size, bytes), JSON (size, bytes), cut text (size, bytes), time of the record in ns (z).
//               Key 0 with JSON: all arguments at once.
//   span        track, category, stack, mask; for each bit of the mask from the lowest: submit (z, after the start,
//               plus one), CPU time, work, correlation, outcome (a name); arguments
//   edge        source track, target track, mask: event, version, correlation
//   hook        mask; for each bit: device (a name), stream, event, version, work, handle, bytes, start (z, after the
//               end, plus one; b of the entry is then the end instead of the time), time waited, CPU time,
//               group (a name), stack, accesses: number of reads and of writes, and for each address, bytes, flags (1:
//               possible, 2: strided), and where it is strided run and stride
#pragma once

#include <cstdint>

namespace eventide::recorder {

enum class ArgumentType : uint8_t { none, no, yes, whole, real, text, json, cut_text, time };

}  // namespace eventide::recorder
