// Turns what Scanner accepted into text that anybody may read.
#pragma once

#include <string>

#include "encoding/json_scan.hpp"

namespace eventide::json {

// The string's characters as UTF-8. What is no character becomes U+FFFD; an unknown escape stays as it was written.
std::string decode(const Value& string);

// The value as JSON that every parser takes: strings repaired as decode does, numbers that are none become null.
std::string clean(const Value& value);

}  // namespace eventide::json
