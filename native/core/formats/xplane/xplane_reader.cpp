#include "formats/xplane/xplane_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_map>

#include "encoding/json.hpp"
#include "encoding/proto.hpp"

namespace eventide::formats {
namespace {

using proto::Fields;

constexpr int64_t latest = int64_t(1) << 61;  // ns
constexpr size_t longest_text = 256;          // of a statistic that is written with each event of a kind
// Events refer to texts and are written out with them: how many bytes that may add, so that a small file cannot expand
// to any size.
constexpr size_t min_text_budget = 16 << 20, text_bytes_per_file_byte = 64;

struct Kind {  // XEventMetadata
    std::string_view name;
    std::string stats;  // members of JSON
    bool hlo = false;
    mutable int32_t name_number = 0, args_number = 0;  // in TextTable, once an event has needed them
};

struct Plane {
    std::unordered_map<int64_t, std::string_view> stat_names;
    std::unordered_map<int64_t, Kind> kinds;
    std::vector<std::string_view> lines, stats;
    std::string_view name;
};

struct Stat {  // XStat
    std::string_view name;
    std::string json;  // empty: cannot be written as JSON
    int64_t number = null_int64;
};

struct Flow {  // an event's end of a producer-consumer pair
    int64_t kind = 0, id = null_int64;
};

std::string json_of(double value) {
    if (!std::isfinite(value)) return json::quote(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    char digits[32];
    const auto made = std::to_chars(digits, digits + sizeof digits, value);
    return {digits, made.ptr};
}

class Reader {
  public:
    explicit Reader(std::string_view data)
        : data_(data), text_budget_(min_text_budget + text_bytes_per_file_byte * data.size()) {}

    XplaneContents read() {
        std::vector<Plane> planes;
        each(data_, [&](const Fields& f) {
            if (f.number() == 1) planes.push_back(parse_plane(text(f)));
            if (f.number() == 2) out_.errors.emplace_back(text(f));
            if (f.number() == 3) out_.warnings.emplace_back(text(f));
        });
        for (const Plane& plane : planes) add_stats(plane);
        for (const Plane& plane : planes) {
            for (const std::string_view line : plane.lines) add_line(plane, line);
            ++plane_;
        }
        draw_arrows();
        return std::move(out_);
    }

  private:
    // Calls f for each field; throws at bytes that are not a field.
    template <class F>
    void each(std::string_view message, F f) {
        Fields fields(message);
        const char* good = message.data();
        while (fields.next()) {
            at_ = good;
            f(fields);
            good = fields.at();
        }
        at_ = good;
        if (good != message.data() + message.size()) damaged("the file is cut or damaged here; copy it again");
    }
    [[noreturn]] void damaged(const char* what) const { throw XplaneDamaged(size_t(at_ - data_.data()), what); }
    std::string_view text(const Fields& f) const {
        if ((f.tag & 7) != 2) damaged("a number instead of a text or a message; this is not a profile of JAX");
        return f.text;
    }
    uint64_t number(const Fields& f) const {
        if ((f.tag & 7) != 0) damaged("a text or a float instead of an integer; this is not a profile of JAX");
        return f.value;
    }
    double real(const Fields& f) const {
        if ((f.tag & 7) != 1) damaged("a field of another type instead of a float; this is not a profile of JAX");
        return f.real();
    }

    Plane parse_plane(std::string_view message) {
        Plane plane;
        std::vector<std::string_view> kinds;
        each(message, [&](const Fields& f) {
            if (f.number() == 2) plane.name = text(f);
            if (f.number() == 3) plane.lines.push_back(text(f));
            if (f.number() == 4) kinds.push_back(text(f));
            if (f.number() == 5) add_stat_name(plane, text(f));
            if (f.number() == 6) plane.stats.push_back(text(f));
        });
        if (!plane.lines.empty())
            for (const std::string_view kind : kinds) add_kind(plane, kind);
        return plane;
    }

    // A map entry is a message with a key and a value.
    template <class F>
    int64_t entry(std::string_view message, F value) {
        int64_t key = 0;
        each(message, [&](const Fields& f) {
            if (f.number() == 1) key = int64_t(number(f));
            if (f.number() == 2) each(text(f), value);
        });
        return key;
    }

    void add_stat_name(Plane& plane, std::string_view message) {
        std::string_view name;
        const int64_t key = entry(message, [&](const Fields& f) {
            if (f.number() == 2) name = text(f);
        });
        plane.stat_names[key] = name;
    }

    void add_kind(Plane& plane, std::string_view message) {
        Kind kind;
        std::vector<std::string_view> stats;
        const int64_t key = entry(message, [&](const Fields& f) {
            if (f.number() == 2) kind.name = text(f);
            if (f.number() == 5) stats.push_back(text(f));
        });
        for (const std::string_view each_stat : stats) {
            const Stat stat = parse_stat(plane, each_stat);
            if (stat.name == "hlo_op" || stat.name == "hlo_category") kind.hlo = true;
            if (stat.json.size() > longest_text)
                ++out_.left_out;
            else
                add_member(kind.stats, stat);
        }
        plane.kinds[key] = std::move(kind);
    }

    void add_stats(const Plane& plane) {
        std::string members;
        for (const std::string_view message : plane.stats) {
            const Stat stat = parse_stat(plane, message);
            add_member(members, stat);
            if (plane.name == "Task Environment" && stat.name == "profile_start_time" && stat.number > 0 &&
                stat.number <= latest)
                began_ = stat.number;
        }
        out_.planes.push_back({std::string(plane.name), "{" + members + "}"});
    }

    Stat parse_stat(const Plane& plane, std::string_view message) {
        Stat stat;
        const auto named = [&](int64_t id) {
            const auto found = plane.stat_names.find(id);
            return found == plane.stat_names.end() ? std::string_view() : found->second;
        };
        each(message, [&](const Fields& f) {
            if (f.number() == 1) stat.name = named(int64_t(number(f)));
            if (f.number() == 2) stat.json = json_of(real(f));
            if (f.number() == 3) stat.json = std::to_string(number(f));
            if (f.number() == 4) stat.json = std::to_string(int64_t(number(f)));
            if (f.number() == 3 || f.number() == 4) stat.number = int64_t(number(f));
            if (f.number() == 5) stat.json = json::quote(text(f));
            if (f.number() == 7 && take_budget(named(int64_t(number(f))).size()))
                stat.json = json::quote(named(int64_t(number(f))));
        });
        return stat;
    }

    void add_member(std::string& members, const Stat& stat) {
        if (stat.json.empty() || !take_budget(stat.name.size())) {
            ++out_.left_out;
            return;
        }
        if (!members.empty()) members += ", ";
        members += json::quote(stat.name) + ": " + stat.json;
    }

    bool take_budget(size_t bytes) {
        if (bytes > text_budget_) return false;
        text_budget_ -= bytes;
        return true;
    }

    void add_line(const Plane& plane, std::string_view message) {
        XplaneLine line;
        line.plane = plane_;
        int64_t base = 0;
        std::string_view display;
        std::vector<std::string_view> events;
        each(message, [&](const Fields& f) {
            if (f.number() == 1) line.id = int64_t(number(f));
            if (f.number() == 2) line.name = text(f);
            if (f.number() == 11) display = text(f);
            if (f.number() == 3) base = int64_t(number(f));
            if (f.number() == 4) events.push_back(text(f));
        });
        if (!display.empty()) line.name = display;
        if (began_ && base < *began_) base = base < -latest ? base : base + *began_;
        for (const std::string_view event : events) add_event(plane, event, base);
        out_.lines.push_back(std::move(line));
    }

    void add_event(const Plane& plane, std::string_view message, int64_t base) {
        int64_t kind_id = 0, offset = 0, duration = 0;
        bool counted = false;
        XplaneEvent event;
        event.line = int32_t(out_.lines.size());
        std::string args;
        Flow produced, consumed;
        each(message, [&](const Fields& f) {
            if (f.number() == 1) kind_id = int64_t(number(f));
            if (f.number() == 2) offset = int64_t(number(f));
            if (f.number() == 3) duration = int64_t(number(f));
            if (f.number() == 5) counted = true;
            if (f.number() == 4) take_stat(parse_stat(plane, text(f)), event, args, produced, consumed);
        });
        if (counted) {
            ++out_.aggregated;
            return;
        }
        constexpr int64_t farthest = int64_t(1) << 62;  // ps, so that the sum below cannot overflow
        if (offset < 0 || duration < 0 || offset >= farthest || duration >= farthest || base > latest ||
            base < -latest) {
            ++out_.bad_times;
            return;
        }
        event.start = base + offset / 1000;
        event.end = base + (offset + duration) / 1000;
        name_event(plane, kind_id, event, args);
        const auto number = int64_t(out_.events.size());
        if (produced.id != null_int64) producers_[{produced.kind, produced.id}].push_back(number);
        if (consumed.id != null_int64) consumers_.emplace_back(std::pair(consumed.kind, consumed.id), number);
        out_.events.push_back(event);
    }

    void take_stat(const Stat& stat, XplaneEvent& event, std::string& args, Flow& produced, Flow& consumed) {
        add_member(args, stat);
        if (stat.name == "hlo_op") event.hlo = true;
        if (stat.number == null_int64) return;
        if (stat.name == "correlation_id") event.correlation = stat.number;
        if (stat.name == "step_num") event.step = stat.number;
        if (stat.name == "_pt") produced.kind = stat.number;
        if (stat.name == "_p") produced.id = stat.number;
        if (stat.name == "_ct") consumed.kind = stat.number;
        if (stat.name == "_c") consumed.id = stat.number;
    }

    void name_event(const Plane& plane, int64_t kind_id, XplaneEvent& event, std::string& args) {
        const auto found = plane.kinds.find(kind_id);
        if (found == plane.kinds.end()) {
            ++out_.unnamed;
            event.name = out_.texts.intern("event " + std::to_string(kind_id));
        } else {
            const Kind& kind = found->second;
            if (!kind.name_number) kind.name_number = out_.texts.intern(kind.name);
            event.name = kind.name_number;
            event.hlo |= kind.hlo;
            if (args.empty() && !kind.stats.empty()) {  // all such events share one text
                if (!kind.args_number) kind.args_number = out_.texts.append("{" + kind.stats + "}");
                event.args = kind.args_number;
            } else if (!kind.stats.empty()) {
                if (take_budget(kind.stats.size()))
                    args += ", " + kind.stats;
                else
                    ++out_.left_out;
            }
        }
        if (!args.empty()) event.args = out_.texts.append("{" + args + "}");
    }

    // The producer of a consumer is the last one that started before it.
    void draw_arrows() {
        const auto start = [&](int64_t event) { return out_.events[size_t(event)].start; };
        for (auto& [key, producers] : producers_)
            std::stable_sort(producers.begin(), producers.end(),
                             [&](int64_t a, int64_t b) { return start(a) < start(b); });
        for (const auto& [key, consumer] : consumers_) {
            const auto found = producers_.find(key);
            if (found == producers_.end()) continue;
            const std::vector<int64_t>& producers = found->second;
            auto behind = std::upper_bound(producers.begin(), producers.end(), start(consumer),
                                           [&](int64_t time, int64_t event) { return time < start(event); });
            if (behind != producers.begin() && *std::prev(behind) == consumer) --behind;
            if (behind != producers.begin()) out_.arrows.emplace_back(*std::prev(behind), consumer);
        }
    }

    std::string_view data_;
    const char* at_ = nullptr;  // the current field
    size_t plane_ = 0;
    size_t text_budget_;
    std::optional<int64_t> began_;
    std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> producers_;
    std::vector<std::pair<std::pair<int64_t, int64_t>, int64_t>> consumers_;
    XplaneContents out_;
};

}  // namespace

XplaneContents read_xplane(std::string_view data) {
    return Reader(data).read();
}

}  // namespace eventide::formats
