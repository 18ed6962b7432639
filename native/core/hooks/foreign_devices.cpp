#include "hooks/foreign_devices.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/mutex.hpp"

namespace eventide::foreign {
namespace {

constexpr size_t most = 4096;

struct Names {
    Mutex lock;
    std::vector<std::string> all;  // guarded by the lock; never removed
};

Names& names() {
    static Names* made = new Names;  // leaked on purpose: used at exit too
    return *made;
}
[[maybe_unused]] const Names& at_load = names();  // before any fork, which could find it half made

}  // namespace

DeviceId add(std::string_view name) {
    Names& n = names();
    std::lock_guard guard(n.lock);
    const auto found = std::find(n.all.begin(), n.all.end(), name);
    const size_t at = size_t(found - n.all.begin());
    if (found == n.all.end()) {
        if (at == most) throw Error(ErrorKind::value, "there are " + std::to_string(most) + " foreign devices already");
        n.all.emplace_back(name);
    }
    return {int16_t(first + int16_t(at)), 0};
}

std::string name(DeviceId id) {
    Names& n = names();
    std::lock_guard guard(n.lock);
    const size_t at = size_t(id.type - first);
    return at < n.all.size() ? n.all[at] : "";
}

void after_fork_in_child() {
    new (&names().lock) Mutex;  // a thread of the parent may have held it
}

}  // namespace eventide::foreign
