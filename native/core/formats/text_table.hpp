// Texts by number, each content once. 0 is the empty one.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace eventide::trace {

class TextTable {
  public:
    TextTable() { intern(""); }
    uint32_t intern(std::string_view text) {
        const auto found = numbers_.find(text);
        if (found != numbers_.end()) return found->second;
        const uint32_t number = append(text);
        numbers_.emplace(texts_[number], number);
        return number;
    }
    // Without looking whether it is there already: for texts that rarely repeat.
    uint32_t append(std::string_view text) {
        texts_.emplace_back(text);
        return uint32_t(texts_.size() - 1);
    }
    const std::string& operator[](uint32_t number) const { return texts_[number]; }
    size_t size() const { return texts_.size(); }

  private:
    std::deque<std::string> texts_;  // a deque, so that views of them stay
    std::unordered_map<std::string_view, uint32_t> numbers_;
};

}  // namespace eventide::trace
