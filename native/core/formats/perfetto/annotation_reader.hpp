// Reads Perfetto's debug annotations as the members of a JSON object.
#pragma once

#include <string>
#include <string_view>

#include "base/null_int64.hpp"
#include "encoding/json_scan.hpp"
#include "encoding/proto.hpp"
#include "encoding/text_table.hpp"
#include "formats/perfetto/pftrace_sequence.hpp"

namespace eventide::formats {

// The members of the annotation `eventide`, which only Eventide writes: columns that Perfetto has no field for.
struct EventideFields {
    int64_t queued = null_int64, cpu = null_int64, work = null_int64, correlation = null_int64, stack = null_int64;
    int32_t outcome = 0;
    std::string args;  // the program's arguments, where they could not be annotations of their own
};

class AnnotationReader {
  public:
    // `text_budget`: how many bytes of interned texts may still be written out; a small file could otherwise expand to
    // any size.
    AnnotationReader(const Sequence& sequence, TextTable& texts, size_t& text_budget)
        : sequence_(sequence), texts_(texts), text_budget_(text_budget) {}
    // Appends `"name": value`. With `own`, the annotation `eventide` is read into that instead.
    void append_member(std::string& json, std::string_view annotation, EventideFields* own);
    // Texts that exceeded the budget.
    int64_t left_out() const { return left_out_; }

  private:
    void append_value(std::string& json, std::string_view annotation, int depth);
    bool append_scalar(std::string& json, const proto::Fields& field);
    void append_json(std::string& json, std::string_view text);
    void read_own(std::string_view annotation, EventideFields& own);
    std::string_view name(std::string_view annotation);
    std::string_view text(const Sequence::Names& names, uint64_t iid);

    const Sequence& sequence_;
    TextTable& texts_;
    size_t& text_budget_;
    json::PaddedText padded_;
    int64_t left_out_ = 0;
};

}  // namespace eventide::formats
