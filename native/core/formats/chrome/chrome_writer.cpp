#include "formats/chrome/chrome_writer.hpp"

#include <charconv>
#include <cmath>

#include "encoding/args_shape.hpp"
#include "encoding/bytes.hpp"
#include "encoding/json.hpp"
#include "encoding/json_scan.hpp"

namespace eventide::formats {
namespace {

constexpr size_t piece = 1 << 16;  // bytes that are written at once; small enough for the cache

void number(Bytes& out, int64_t value) {
    char* const text = out.reserve_tail(24);
    out.commit(std::to_chars(text, text + 24, value).ptr);
}

// Nanoseconds as microseconds, exactly.
void microseconds(Bytes& out, int64_t ns, bool negative = false) {
    uint64_t size = uint64_t(ns);
    if (negative) out += '-', size = 0 - size;
    char* const text = out.reserve_tail(24);
    out.commit(std::to_chars(text, text + 24, size / 1000).ptr);
    const auto rest = unsigned(size % 1000);
    if (!rest) return;
    const char digits[4] = {'.', char('0' + rest / 100), char('0' + rest / 10 % 10), char('0' + rest % 10)};
    out.append(digits, rest % 10 ? 4 : rest % 100 ? 3 : 2);
}

// Texts as JSON strings, quoted at their first use.
class Quoted {
  public:
    explicit Quoted(const Texts& texts) : texts_(texts), made_(size_t(texts.count)) {}
    const std::string& operator[](int64_t code) {
        std::string& text = made_[size_t(code)];
        if (text.empty()) json::quote(text, texts_[code]);
        return text;
    }

  private:
    const Texts& texts_;
    std::vector<std::string> made_;
};

class Writer {
  public:
    Writer(const ChromeInput& input, const Lanes& lanes, bool first, Sink& sink)
        : in_(input),
          lanes_(lanes),
          flows_(input.spans, input.edges, lanes),
          sink_(sink),
          names_(in_.names),
          categories_(in_.categories),
          outcomes_(in_.outcomes),
          places_(in_.places),
          arrows_(in_.arrows),
          own_words_(in_.own),
          series_(in_.series),
          first_(first) {}

    int64_t write() {
        for (size_t lane = 0; lane < lanes_.track.size(); ++lane)
            for (int64_t at = lanes_.first[lane]; at < lanes_.first[lane + 1]; ++at)
                span(lanes_.order[size_t(at)], lane);
        for (int64_t row = 0; row < in_.instants.count; ++row) instant(row);
        for (int64_t row = 0; row < in_.counters.count; ++row) counter(row);
        if (!out_.empty()) sink_.write(out_);
        return flows_.drawn();
    }

  private:
    void span(int64_t row, size_t lane) {
        const Spans& s = in_.spans;
        open(s.finished(row) ? 'X' : 'B', s.name[row], s.category[row], lane, s.start[row]);
        if (s.finished(row)) {
            out_ += ",\"dur\":";
            microseconds(out_, std::max<int64_t>(s.duration[row], 0));
        }
        own_.clear();
        if (in_.own_category[row] >= 0) member("category", own_words_[in_.own_category[row]]);
        if (s.submit[row] != null_int64)
            integer("queued_ns", int64_t(uint64_t(s.start[row]) - uint64_t(s.submit[row])));
        if (s.cpu[row] != null_int64) integer("cpu_ns", s.cpu[row]);
        if (s.work[row] != null_int64) integer("work", s.work[row]);
        if (s.outcome[row] >= 0) member("outcome", outcomes_[s.outcome[row]]);
        stack(s.stack[row]);
        // An annotation on a stream is not work: with a stream, tools would count it.
        const bool work = in_.categories[s.category[row]] != "gpu_user_annotation";
        const int64_t stream = work ? in_.stream[lane] : null_int64,
                      correlation = s.correlation[row] != null_int64 ? s.correlation[row] : s.work[row];
        arguments(s.name[row], s.args[row], [&](std::string_view args) {
            if (stream != null_int64) added(args, "stream", stream);
            if (stream != null_int64 && in_.device[lane] != null_int64) added(args, "device", in_.device[lane]);
            if (s.correlation[row] != null_int64 || stream != null_int64) added(args, "correlation", correlation);
        });
        close();
        for (const FlowEnd* f = flows_.begin(row); f != flows_.end(row); ++f) arrow(*f, lane);
    }

    void instant(int64_t row) {
        const Instants& i = in_.instants;
        open('i', i.name[row], i.category[row], size_t(i.track[row]), i.time[row]);
        out_ += ",\"s\":\"t\"";
        own_.clear();
        stack(i.stack[row]);
        arguments(i.name[row], i.args[row], [](std::string_view) {});
        close();
    }

    void counter(int64_t row) {
        const Counters& c = in_.counters;
        begin_event();
        out_ += "{\"ph\":\"C\",\"name\":";
        out_ += series_[c.series[row]];
        out_ += ",\"pid\":";
        number(out_, in_.series_pid[c.series[row]]);
        time(c.time[row]);
        out_ += ",\"args\":{";
        if (std::isfinite(c.value[row])) {
            out_ += "\"value\":";
            char* const text = out_.reserve_tail(32);
            out_.commit(std::to_chars(text, text + 32, c.value[row]).ptr);
        }
        out_ += '}';
        close();
    }

    // A tail is at the start of its span. So is a head, or at the time of the tail if its span starts before that.
    void arrow(const FlowEnd& f, size_t lane) {
        begin_event();
        out_ += std::string_view(f.head ? "{\"ph\":\"f\",\"bp\":\"e\",\"id\":" : "{\"ph\":\"s\",\"id\":");
        number(out_, f.edge + 1);
        const std::string& word = arrows_[in_.arrow[f.edge]];
        out_ += ",\"cat\":";
        out_ += word;
        out_ += ",\"name\":";
        out_ += word;
        place(lane);
        time(f.at_end ? flows_.tail_time(f.edge) : in_.spans.start[f.span]);
        close();
    }

    void open(char phase, int32_t name, int32_t category, size_t lane, int64_t when) {
        begin_event();
        out_ += "{\"ph\":\"";
        out_ += phase;
        out_ += "\",\"cat\":";
        out_ += categories_[category];
        out_ += ",\"name\":";
        out_ += names_[name];
        place(lane);
        time(when);
    }

    void place(size_t lane) {
        out_ += ",\"pid\":";
        number(out_, in_.pid[lane]);
        out_ += ",\"tid\":";
        number(out_, in_.tid[lane]);
    }

    void time(int64_t when) {
        out_ += ",\"ts\":";
        microseconds(out_, int64_t(uint64_t(when) - uint64_t(in_.base)), when < in_.base);
    }

    // The program's arguments, then Eventide's columns as `eventide`, then those that other tools expect and the
    // program did not give.
    template <class F>
    void arguments(int32_t name, std::string_view given, F add) {
        const std::string_view args = given.empty() ? given : members_of(name, given);
        if (!given.empty() && args.empty()) {
            text_.clear();
            json::quote(text_, given);
            member("args", braceless(text_));
        }
        added_.clear();
        add(args);
        if (args.empty() && own_.empty() && added_.empty()) return;
        out_ += ",\"args\":{";
        append_members(args);
        if (!own_.empty() || !added_.empty()) {
            if (!args.empty()) out_ += ',';
            out_ += "\"eventide\":{";
            out_ += own_;
            out_ += '}';
            out_ += added_;
        }
        out_ += '}';
    }

    // The text between the braces; empty if it cannot be written unchanged.
    std::string_view members_of(int32_t name, std::string_view args) {
        const auto inside = [&] {
            const size_t begin = args.find('{') + 1;
            return args.substr(begin, args.rfind('}') - begin);
        };
        json::ArgsShape& like = shapes_[size_t(uint32_t(name)) % shapes_.size()];
        if (like.match(args, [](size_t, uint64_t) {})) return inside();
        json::Scanner scan = padded_.scan(args);
        json::Value value;
        if (!scan.value(value) || scan.space() || value.kind != json::Kind::object) return {};
        if (value.flags & (json::BAD_TEXT | json::NOT_A_NUMBER)) return {};
        // An empty object would not be visible, and an argument may have our own name.
        if (inside().find_first_not_of(" \t\r\n") == args.npos || args.find("\"eventide\"") != args.npos) return {};
        like.assign(args);
        return inside();
    }

    // Unchanged, except strings that end in a backslash: see json::quote.
    void append_members(std::string_view args) {
        if (args.find("\\\\\"") == args.npos) {
            out_ += args;
            return;
        }
        for (size_t i = 0; i < args.size(); ++i) {
            if (args[i] != '\\') {
                out_ += args[i];
            } else if (args.substr(i, 3) == "\\\\\"") {
                out_ += "\\u005c";
                ++i;
            } else {
                out_ += args.substr(i++, 2);
            }
        }
    }

    // `"key":value`, unless the arguments have such a key already.
    void added(std::string_view args, std::string_view key, int64_t value) {
        if (value == null_int64) return;
        quoted_.clear();
        quoted_ += '"';
        quoted_ += key;
        quoted_ += '"';
        if (args.find(quoted_) != args.npos) return;
        added_ += ',';
        added_ += quoted_;
        added_ += ':';
        number(added_, value);
    }

    void member(std::string_view key, std::string_view json) {
        if (!own_.empty()) own_ += ',';
        own_ += '"';
        own_ += key;
        own_ += "\":";
        own_ += json;
    }

    void integer(std::string_view key, int64_t value) {
        member(key, "");
        number(own_, value);
    }

    void stack(int32_t stack) {
        if (stack < 0) return;
        integer("stack", stack);
        if (stack < in_.places.count) member("called_from", braceless(places_[stack]));
    }

    // Our reader finds the end of `eventide` by its closing brace, so its content has no other braces.
    std::string braceless(std::string_view json) {
        std::string out;
        for (const char c : json)
            if (c == '{')
                out += "\\u007b";
            else if (c == '}')
                out += "\\u007d";
            else
                out += c;
        return out;
    }

    void begin_event() {
        if (!first_) out_ += ',';
        out_ += '\n';
        first_ = false;
    }

    void close() {
        out_ += '}';
        if (out_.size() < piece) return;
        sink_.write(out_);
        out_.clear();
    }

    const ChromeInput& in_;
    const Lanes& lanes_;
    const Flows flows_;
    Sink& sink_;
    Quoted names_, categories_, outcomes_, places_, arrows_, own_words_, series_;
    std::vector<json::ArgsShape> shapes_ = std::vector<json::ArgsShape>(256);  // by the event's name modulo the size
    Bytes out_, own_, added_;
    std::string text_, quoted_;
    json::PaddedText padded_;
    bool first_;
};

}  // namespace

int64_t write_chrome(const ChromeInput& input, const Lanes& lanes, bool first, Sink& sink) {
    return Writer(input, lanes, first, sink).write();
}

}  // namespace eventide::formats
