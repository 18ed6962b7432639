#include "formats/chrome/chrome_document.hpp"

#include <cstring>

#include "encoding/json_text.hpp"

namespace eventide::chrome {

using json::Kind;
using json::Problem;
using json::Scanner;
using json::Value;

namespace {
constexpr size_t max_member_bytes = size_t(16) << 20;  // bytes; longer members of the outermost object are dropped
}

void Document::feed(std::string_view piece) {
    bytes += int64_t(piece.size());
    if (state_ == State::failed) return;
    if (begin_) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    if (end_ + piece.size() + json::PADDING > buffer_.size()) buffer_.resize(end_ + piece.size() + json::PADDING);
    if (!piece.empty()) std::memcpy(buffer_.data() + end_, piece.data(), piece.size());
    end_ += piece.size();
    std::memset(buffer_.data() + end_, 0, json::PADDING);
    if (end_ - begin_ >= enough_) run();
}

void Document::run() {
    while (state_ != State::failed) {
        Scanner scan{buffer_.data() + begin_, buffer_.data() + end_};
        const bool inside = state_ != State::done;
        if (step(scan)) {
            begin_ = size_t(scan.at - buffer_.data());
            if (inside) kept = bytes - int64_t(end_ - begin_);
            enough_ = 0;
            continue;
        }
        if (scan.problem == Problem::bad) return fail(scan);
        enough_ = 2 * (end_ - begin_);
        if (enough_ / 2 > max_value_) {
            scan.at = buffer_.data() + begin_;
            scan.fail("a value is longer than the limit");
            fail(scan);
        }
        return;
    }
}

void Document::fail(const Scanner& scan) {
    message = scan.message;
    position = bytes - int64_t(end_) + int64_t(scan.at - buffer_.data());
    state_ = State::failed;
    buffer_ = {};
}

bool Document::step(Scanner& scan) {
    if (!scan.space()) {
        begin_ = size_t(scan.at - buffer_.data());  // blanks are read once
        return false;
    }
    switch (state_) {
        case State::start:
            return start(scan);
        case State::key:
            return member(scan);
        case State::events:
            return element(scan);
        default:
            break;
    }
    while (scan.at < scan.end) {
        const char c = *scan.at++;
        trailing += c != ' ' && c != '\n' && c != '\t' && c != '\r';
    }
    return true;
}

bool Document::start(Scanner& scan) {
    if (scan.end - scan.at < 3 && uint8_t(*scan.at) == 0xEF) return scan.more();
    if (!std::strncmp(scan.at, "\xEF\xBB\xBF", 3)) {
        scan.at += 3;
        return true;
    }
    if (*scan.at != '{' && *scan.at != '[') return scan.fail("not JSON: a trace starts with { or [");
    is_array = *scan.at++ == '[';
    event_arrays = is_array;
    state_ = is_array ? State::events : State::key;
    return true;
}

// A key with its value, or the opening of the events, or the end of the outermost object.
bool Document::member(Scanner& scan) {
    if (*scan.at == '}' || *scan.at == ',') {
        if (*scan.at++ == '}') state_ = State::done;
        return true;
    }
    Value key, value;
    if (*scan.at != '"') return scan.fail("expected a key in quotes");
    if (!scan.string(key) || !scan.expect(':', "expected : after a key") || !scan.space()) return false;
    if (key.inner() == "traceEvents") {
        if (*scan.at != '[') return scan.fail("traceEvents is not an array");
        ++scan.at;
        ++event_arrays;
        state_ = State::events;
        return true;
    }
    if (!scan.value(value)) return false;
    if (value.text().size() > max_member_bytes) {
        ++oversized;
    } else {
        metadata.emplace_back(json::decode(key),
                              value.flags & json::DIRTY ? json::clean(value) : std::string(value.text()));
    }
    return true;
}

bool Document::element(Scanner& scan) {
    if (*scan.at == ']' || *scan.at == ',') {
        if (*scan.at++ == ']') state_ = is_array ? State::done : State::key;
        return true;
    }
    if (*scan.at != '{') {
        Value other;
        if (!scan.value(other)) return false;
        table.ignore("not an object");
    } else {
        Event event;
        if (!read_event(scan, event)) return false;
        table.add(event);
    }
    ++elements;
    return true;
}

Ended Document::finish() {
    if (state_ != State::failed) run();
    table.finish();
    if (state_ == State::failed) return Ended::bad;
    position = kept;
    const bool rest = begin_ < end_;
    buffer_ = {};
    if (state_ == State::start) return rest ? Ended::cut : Ended::empty;
    if (!event_arrays) return Ended::no_events;
    if (rest) return Ended::cut;
    return state_ == State::done ? Ended::whole : Ended::open;
}

}  // namespace eventide::chrome
