// Encodes a chunk for the trace file: serial, track, number of records (varints), first stamp (64 bits), then per
// record
//
//   tag      kind in the low four bits; 16: a payload; 32: a name; 64, 128: see below
//   stamp    difference to the previous one, signed
//   name     if 32
//   begin    64: the number of the span (else one more than the last); 128: a stack
//   end      64: the number of the span (else of the innermost that is open in this chunk); 128: its track
//   counter  64: the value is a double of eight bytes (else an integer, signed); 128: a track
//   instant  64: a category; 128: a stack
//   others   64: a as a difference to the last time, signed (hook: a itself); 128: b as a difference to a (hook: to the
//            last time), signed
//   payload  number of bytes, bytes
//
// A chunk can be decoded without the others.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tracefile/record.hpp"

namespace eventide::tracefile {

// Appends to `out`. `used`: the number of published entries. Stops at the first invalid entry, as walk() does.
void encode(const Chunk& chunk, uint32_t used, std::string& out);

struct ChunkHead {
    uint64_t serial = 0;
    uint32_t track = 0;
    uint64_t records = 0;  // in the bytes of a file: as many as they can hold at most
};
using Visit = std::function<void(const ChunkHead&, const Entry&, std::string_view payload)>;

// Calls `visit` for each record. False if the bytes are damaged; the records before the damage have been visited.
bool decode(std::string_view bytes, const Visit& visit);
// Only the head of such a chunk.
ChunkHead head_of(std::string_view bytes);
// The same for a chunk in a buffer.
void walk(const Chunk& chunk, uint32_t used, const Visit& visit);

// CRC-32 as in zlib.
uint32_t crc32(const void* bytes, size_t size, uint32_t before = 0) noexcept;

}  // namespace eventide::tracefile
