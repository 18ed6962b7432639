#include "runtime/wait_graph.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/context.hpp"
#include "base/error.hpp"
#include "base/mutex.hpp"
#include "runtime/stream.hpp"

namespace eventide {
namespace {

Mutex* graph_lock = new Mutex;  // guards Stream::blocked_; taken before any stream's lock, never after

}  // namespace

// Depth-first: does completing a position of a stream need `origin` to get past the work at `from`?
class Graph::Search {
  public:
    Search(Stream& origin, uint64_t from) : origin_(origin), from_(from) {}

    bool reaches(Stream& at, uint64_t position) {
        if (at.completed() >= position) return false;
        if (&at == &origin_) return position >= from_;
        for (auto& [stream, seen] : visited_)
            if (stream == &at && seen >= position) return false;
        visited_.push_back({&at, position});
        for (const Step& step : needs(at, position)) {
            path.push_back(step.why);
            if (reaches(*step.stream, step.position)) return true;
            path.pop_back();
        }
        return false;
    }

    std::vector<std::string> path;

  private:
    struct Step {
        Ref<Stream> stream;
        uint64_t position;
        std::string why;
    };

    // What `at` needs before it can complete `position`: its queued waits, and its work that blocks.
    static std::vector<Step> needs(Stream& at, uint64_t position) {
        std::vector<Step> out;
        if (at.blocked_.stream && at.blocked_.from <= position)
            out.push_back({at.blocked_.stream, at.blocked_.position,
                           "work on " + at.describe() + " waits for " + at.blocked_.stream->describe()});
        std::lock_guard lock(at.m_);
        for (const auto& wait : at.waits_) {
            if (wait.position > position) break;
            Marker& m = *wait.marker;
            if (m.state() != MarkerState::pending) continue;
            out.push_back(
                {Ref<Stream>(&m.stream()), m.position(),
                 at.describe() + " waits for event " + std::to_string(m.event()) + " of " + m.stream().describe()});
        }
        return out;
    }

    Stream& origin_;
    const uint64_t from_;
    std::vector<std::pair<Stream*, uint64_t>> visited_;
};

void Graph::block(Stream& from, uint64_t from_position, Stream& target, uint64_t position, const char* verb,
                  const char* remedy) {
    std::lock_guard lock(*graph_lock);
    Search search(from, from_position);
    if (search.reaches(target, position)) {
        std::string message = std::string(verb) + " inside work on " + from.describe() +
                              " would wait forever: it waits for " + target.describe();
        for (const std::string& why : search.path) message += "; " + why;
        if (&target == &from)
            message += ", which cannot go on before this work is over";
        else
            message += ", and " + from.describe() + " cannot go on before this work is over";
        throw Error(ErrorKind::deadlock, message + "; " + remedy);
    }
    from.blocked_ = {Ref<Stream>(&target), position, from_position};
}

void Graph::unblock(Stream& from) noexcept {
    Ref<Stream> dropped;  // released after the lock
    std::lock_guard lock(*graph_lock);
    dropped = std::move(from.blocked_.stream);
}

void Graph::after_fork_in_child() {
    graph_lock = new Mutex;
}

Blocking::Blocking(const char* verb, Stream& target, uint64_t position, const char* remedy)
    : verb_(verb), remedy_(remedy), from_(thread_context.held) {
    refuse_in_callback(verb);
    retarget(target, position);
}

Blocking::~Blocking() {
    if (from_) Graph::unblock(*from_);
}

void Blocking::retarget(Stream& target, uint64_t position) {
    if (from_) Graph::block(*from_, thread_context.held_position, target, position, verb_, remedy_);
}

void refuse_in_callback(const char* verb) {
    if (thread_context.callback_depth)
        throw Error(ErrorKind::usage, std::string(verb) +
                                          " would block inside a notify or Future callback, which runs on the thread "
                                          "that all callbacks share; submit the waiting to a stream instead");
}

}  // namespace eventide
