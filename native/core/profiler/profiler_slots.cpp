// How other people's shared objects and our table find each other.
#include <dlfcn.h>
#include <link.h>

#include <string>
#include <vector>

#define EVENTIDE_DISABLE  // the types alone: we have no slot of our own
#include "eventide/profiler.h"
#include "profiler/profiler.hpp"

extern "C" eventide_profiler eventide_profiler_table_1;

namespace eventide::profiler {
namespace {

int add_name(dl_phdr_info* info, size_t, void* names) {
    if (info->dlpi_name && info->dlpi_name[0])
        static_cast<std::vector<std::string>*>(names)->emplace_back(info->dlpi_name);
    return 0;
}

}  // namespace

int connect_loaded() {
    std::vector<std::string> names;
    dl_iterate_phdr(add_name, &names);
    int found = 0;
    for (const std::string& name : names) {
        // Held while we look, so that nobody unloads it meanwhile. Looking never loads anything.
        void* object = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
        if (!object) continue;
        auto* slot = static_cast<const eventide_profiler**>(dlsym(object, "eventide_profiler_slot_1"));
        if (slot && !__atomic_load_n(slot, __ATOMIC_ACQUIRE)) {
            const eventide_profiler* table = &eventide_profiler_table_1;
            __atomic_store_n(slot, table, __ATOMIC_RELEASE);
            ++found;
        }
        dlclose(object);
    }
    return found;
}

void publish_table() noexcept {
    Dl_info info;
    // A Python module is loaded for itself alone; asked for again like this, its exported names are there for all.
    if (dladdr(&eventide_profiler_table_1, &info) && info.dli_fname)
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_GLOBAL | RTLD_NOLOAD);
}

}  // namespace eventide::profiler
