// Exceptions of failed work that nothing keeps but a cycle through native memory.
//
//   def step():
//       stream = et.Stream()
//       stream.submit(fail)
//       event = stream.record_event()
//       try: stream.synchronize()
//       except ValueError as error: kept = error
//
// Here the exception has its traceback, that the frame of step, and that the variables kept and event. The event's
// marker has the failure, which has the exception. Python's collector sees no way from the event to the exception: a
// failure has one reference to it, and may itself be kept by several events, streams and Futures.
//
// The search counts as the collector does, for the objects that one exception refers to: who has more references than
// come from these is in use, and so is all that it refers to. A failure counts where each of its references is that of
// a handle found. Modules, classes and the globals of functions are in use anyway; the search ends there.
#include "bindings/types/failure_cycles.hpp"

#include <map>
#include <unordered_map>
#include <vector>

#include "bindings/base/live_failures.hpp"
#include "bindings/types/hot_event.hpp"
#include "bindings/types/hot_future.hpp"
#include "bindings/types/hot_stream.hpp"

namespace eventide::python {
namespace {

constexpr size_t most_objects = 5'000;      // of one search: about 0.3 ms
constexpr size_t most_in_a_sweep = 20'000;  // of all

// References of a handle to a failure.
struct Share {
    Ref<const Failure> failure;
    uint32_t references = 0;
    bool busy = false;
};

Share share_of_event(PyEvent* e) {
    // An event that other handles, tasks or threads have as well is in use.
    if (!e->core || !e->core->is_current() || e->core->references() != (e->pool && e->owner ? 2 : 1)) return {};
    const Ref<Marker> marker = e->core->current().marker;
    if (!marker || marker->references() != 2 || marker->decided() != MarkerState::failed) return {};
    const Ref<Failure> failure = marker->failure();
    return {failure.get(), marker->error_at_creation == failure ? 2u : 1u};
}

Share share_of_stream(PyObject* handle) {
    const Stream* core = stream_core(handle);
    if (!core || core->handle != handle || !process::is_current(core->generation)) return {};
    Share s;
    s.failure = core->own_error(s.references).get();
    s.busy = core->completed() < core->position();
    return s;
}

Share share_of(PyObject* object) {
    if (is_stream(object)) return share_of_stream(object);
    if (is_event(object)) return share_of_event((PyEvent*)object);
    return {Ref<const Failure>(failure_of_future(object)), 1};
}

class Search {
  public:
    // False: there are too many objects.
    bool run(PyObject* exception) {
        place_of(exception);
        for (size_t i = 0; i < nodes_.size(); ++i) {
            count_share(nodes_[i].object);
            refer(nodes_[i].object, count);
            if (is_too_large()) return false;
        }
        for (auto& [failure, held] : failures_) {
            if (held.found + 1 == failure->references()) ++nodes_[place_of(held.exception)].inside;
            held.reference = {};
        }
        spread_use();
        return true;
    }
    void add_unreachable(std::vector<Unreachable>& found) const {
        std::map<PyObject*, bool> busy;  // an exception may have several failures
        for (auto& [failure, held] : failures_)
            if (!nodes_[places_.at(held.exception)].used) busy[held.exception] |= held.busy;
        for (auto& [exception, is_busy] : busy) found.push_back({exception, is_busy});
    }
    bool contains(PyObject* object) const { return places_.contains(object); }
    size_t size() const { return nodes_.size(); }

  private:
    struct Node {
        PyObject* object;
        Py_ssize_t inside = 0;  // references from objects of the search
        bool used = false;
    };
    struct HeldFailure {
        Ref<const Failure> reference;  // with this one our traverse functions do not visit the exception
        PyObject* exception = nullptr;
        uint32_t found = 0;  // references of handles
        bool busy = false;
    };

    size_t place_of(PyObject* object) {
        auto [it, added] = places_.try_emplace(object, nodes_.size());
        if (added) nodes_.push_back({object});
        return it->second;
    }

    void count_share(PyObject* handle) {
        const Share share = share_of(handle);
        auto* failure = dynamic_cast<const PythonFailure*>(share.failure.get());
        if (!failure) return;
        auto [it, added] = failures_.try_emplace(failure);
        HeldFailure& held = it->second;
        if (added) held.reference = share.failure, held.exception = failure->exception;
        held.found += share.references;
        held.busy |= share.busy;
        through_handles_.emplace(handle, held.exception);
        place_of(held.exception);
    }

    // Visits what an object has references to.
    void refer(PyObject* object, visitproc visit) {
        skipped_[0] = skipped_[1] = nullptr;
        if (PyFunction_Check(object)) {
            skipped_[0] = PyFunction_GET_GLOBALS(object);
            skipped_[1] = ((PyFunctionObject*)object)->func_builtins;
        }
        if (is_event(object) && ((PyEvent*)object)->stream) visit(((PyEvent*)object)->stream, this);
        if (PyObject_IS_GC(object) && Py_TYPE(object)->tp_traverse) Py_TYPE(object)->tp_traverse(object, visit, this);
    }
    bool is_in_use_anyway(PyObject* o) const {
        return o == skipped_[0] || o == skipped_[1] || PyModule_Check(o) || PyType_Check(o) || PyCode_Check(o);
    }

    bool is_too_large() const { return nodes_.size() > most_objects; }

    // Numbers, texts and arrays refer to nothing.
    static bool may_refer(PyObject* o) { return PyObject_IS_GC(o) || is_event(o); }

    static int count(PyObject* object, void* self) {
        auto& s = *static_cast<Search*>(self);
        if (may_refer(object) && !s.is_in_use_anyway(object)) ++s.nodes_[s.place_of(object)].inside;
        return s.is_too_large();
    }
    static int use(PyObject* object, void* self) {
        auto& s = *static_cast<Search*>(self);
        if (auto it = s.places_.find(object); it != s.places_.end()) s.use_node(it->second);
        return 0;
    }
    void use_node(size_t place) {
        if (std::exchange(nodes_[place].used, true)) return;
        to_spread_.push_back(place);
    }
    // What something outside refers to is in use, and all that it refers to.
    void spread_use() {
        for (size_t i = 0; i < nodes_.size(); ++i)
            if (Py_REFCNT(nodes_[i].object) > nodes_[i].inside) use_node(i);
        while (!to_spread_.empty()) {
            PyObject* object = nodes_[to_spread_.back()].object;
            to_spread_.pop_back();
            refer(object, use);
            auto [first, last] = through_handles_.equal_range(object);
            for (; first != last; ++first) use(first->second, this);
        }
    }

    std::vector<Node> nodes_;
    std::unordered_map<PyObject*, size_t> places_;
    std::map<const PythonFailure*, HeldFailure> failures_;
    std::multimap<PyObject*, PyObject*> through_handles_;  // handle, exception of a failure that it has
    std::vector<size_t> to_spread_;
    PyObject* skipped_[2] = {};
};

}  // namespace

void search_failure_cycles() {
    std::vector<Unreachable> found;
    size_t objects = 0;
    {
        std::vector<Search> searches;
        for (PyObject* exception : exceptions_to_search()) {
            bool known = false;
            for (const Search& earlier : searches) known |= earlier.contains(exception);
            if (known || objects > most_in_a_sweep) continue;
            Search search;
            const bool complete = search.run(exception);
            objects += search.size();
            if (!complete) {
                search_seldom(exception);
                continue;
            }
            search.add_unreachable(found);
            searches.push_back(std::move(search));
        }
    }
    break_cycles(found);
}

}  // namespace eventide::python
