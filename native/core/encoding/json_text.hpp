// Converts values that Scanner accepted to text that every parser accepts.
#pragma once

#include <string>

#include "encoding/json_scan.hpp"

namespace eventide::json {

// The content of a string as UTF-8. Invalid characters become U+FFFD; an unknown escape stays unchanged.
std::string decode(const Value& string);
void decode(const Value& string, std::string& out);  // replaces `out`

// The value as valid JSON: strings are repaired as by decode(); NaN and infinities become null.
std::string clean(const Value& value);

}  // namespace eventide::json
