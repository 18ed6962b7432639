#include "runtime/streams.hpp"

#include <map>

#include "base/mutex.hpp"
#include "base/process.hpp"

namespace eventide::streams {
namespace {

struct List {
    Mutex m;
    std::map<uint64_t, Stream*> by_id;
};

List* list = new List;  // leaked on purpose: workers may outlive static destruction

}  // namespace

void add(Stream& stream) {
    std::lock_guard lock(list->m);
    list->by_id[stream.id] = &stream;
}

void remove(Stream& stream) noexcept {
    std::lock_guard lock(list->m);
    list->by_id.erase(stream.id);
}

std::vector<Ref<Stream>> all() {
    std::lock_guard lock(list->m);
    std::vector<Ref<Stream>> out;
    for (auto& [id, s] : list->by_id)
        if (s->try_retain()) out.push_back(Ref<Stream>::adopt(s));  // false: it is being destroyed right now
    return out;
}

void after_fork_in_child() {
    list = new List;
}

}  // namespace eventide::streams
