// Bytes as a zlib stream (RFC 1950 and 1951), for those who wait for it: one pass, the newest match, the fixed codes.
// What repeats, as packets of one kind do, becomes about a fifth, at about a nanosecond a byte. Anything inflates it.
#pragma once

#include <string_view>

#include "encoding/bytes.hpp"

namespace eventide {

void deflate(trace::Bytes& out, std::string_view data);

}  // namespace eventide
