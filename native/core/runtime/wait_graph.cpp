#include "runtime/wait_graph.hpp"

#include <map>
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

// Depth-first: does completing a position of a stream need `origin` to get past the work at `from`? Without recursion,
// since a chain of streams may be of any length. It keeps what it visits: a stream that is dropped meanwhile is destroyed
// with the search, when no lock is held.
class Graph::Search {
  public:
    Search(Stream& origin, uint64_t from) : origin_(origin), from_(from) {}

    bool reaches(Stream& target, uint64_t position) {
        if (is_origin(target, position)) return true;
        visit(target, position);
        while (!path_.empty()) {
            Visit& last = path_.back();
            if (last.next == last.needs.size()) {
                path_.pop_back();
                continue;
            }
            const Need& need = last.needs[last.next++];
            if (is_origin(*need.stream, need.position)) return true;
            visit(*need.stream, need.position);
        }
        return false;
    }

    // How the target leads to the origin: "; stream 2 waits for event 1 of stream 3".
    std::string path() const {
        std::string out;
        for (const Visit& each : path_) {
            const Need& need = each.needs[each.next - 1];
            const std::string from = each.stream->describe(), to = need.stream->describe();
            out += need.blocks ? "; work on " + from + " waits for " + to
                               : "; " + from + " waits for event " + std::to_string(need.event) + " of " + to;
        }
        return out;
    }

  private:
    struct Need {
        Ref<Stream> stream;
        uint64_t position;
        uint64_t event;
        bool blocks;  // work blocks; else a queued wait for the event
    };
    struct Visit {
        Stream* stream;
        std::vector<Need> needs;
        size_t next = 0;
    };

    bool is_origin(Stream& at, uint64_t position) const {
        return &at == &origin_ && position >= from_ && at.completed() < position;
    }

    void visit(Stream& at, uint64_t position) {
        auto [it, first] = visited_.try_emplace(Ref<Stream>(&at), position);
        if (!first && it->second >= position) return;
        it->second = position;
        if (&at != &origin_ && at.completed() < position) path_.push_back({&at, needs(at, position)});
    }

    // What `at` needs before it can complete `position`: its queued waits, and its work that blocks.
    static std::vector<Need> needs(Stream& at, uint64_t position) {
        std::vector<Need> out;
        if (at.blocked_.stream && at.blocked_.from <= position)
            out.push_back({at.blocked_.stream, at.blocked_.position, 0, true});
        std::lock_guard lock(at.m_);
        for (const auto& wait : at.waits_) {
            if (wait.position > position) break;
            Marker& m = *wait.marker;
            if (m.state() == MarkerState::pending)
                out.push_back({Ref<Stream>(&m.stream()), m.position(), m.event(), false});
        }
        return out;
    }

    struct ById {
        bool operator()(const Ref<Stream>& a, const Ref<Stream>& b) const { return a->id < b->id; }
    };
    Stream& origin_;
    const uint64_t from_;
    std::map<Ref<Stream>, uint64_t, ById> visited_;
    std::vector<Visit> path_;
};

void Graph::block(Stream& from, uint64_t from_position, Stream& target, uint64_t position, const char* verb,
                  const char* remedy) {
    Search search(from, from_position);
    Ref<Stream> before;  // released after the lock
    std::lock_guard lock(*graph_lock);
    if (search.reaches(target, position)) {
        std::string message = std::string(verb) + " inside work on " + from.describe() +
                              " would wait forever: it waits for " + target.describe() + search.path();
        if (&target == &from)
            message += ", which cannot continue before this work is complete";
        else
            message += ", and " + from.describe() + " cannot continue before this work is complete";
        throw Error(ErrorKind::deadlock, message + "; " + remedy);
    }
    before = std::exchange(from.blocked_.stream, Ref<Stream>(&target));
    from.blocked_.position = position;
    from.blocked_.from = from_position;
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
