// The example device with one thing wrong with it: what, says the environment variable PLUGIN_FAULT when it is loaded.
#include <cstdlib>
#include <map>
#include <stdexcept>

#define eventide_device_entry flawless_entry
#include <threads_device.cpp>
#undef eventide_device_entry

namespace {

template <class Answer>
Answer say(Answer answer, const char* words) {
    why = words;
    return answer;
}

void keep_two_markers(eventide_device& d) {
    static int left;
    left = 2;
    d.make_marker = [](void* s, int timing) {
        return --left < 0 ? say<void*>(nullptr, "out of markers") : table.make_marker(s, timing);
    };
}

// No fault: the same device, but work runs inside submit; and its clock is 5 s behind.
void immediate(eventide_device& d) {
    d.capabilities = [](int32_t i, eventide_capabilities* c) {
        capabilities(i, c);
        c->deferred = 0;
        c->clock = "late";
    };
    d.submit = [](void*, eventide_work* work) {
        host.load()->run_work(work);
        return 0;
    };
    d.completed_at = [](void* marker) { return table.completed_at(marker) - 5'000'000'000; };
    d.now = [](int32_t) {
        timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return int64_t(t.tv_sec - 5) * 1'000'000'000 + t.tv_nsec;
    };
}

// No fault: looks at work, and runs it once more, as late as the header allows: when its marker is released.
void look_back(eventide_device& d) {
    static std::mutex m;
    static std::map<void*, eventide_work*> newest, behind;  // by stream; by marker
    d.submit = [](void* s, eventide_work* work) {
        std::lock_guard lock(m);
        newest[s] = work;
        return table.submit(s, work);
    };
    d.make_marker = [](void* s, int timing) {
        void* marker = table.make_marker(s, timing);
        std::lock_guard lock(m);
        if (auto node = newest.extract(s)) behind[marker] = node.mapped();
        return marker;
    };
    d.release = [](void* marker) {
        eventide_work* work = nullptr;
        {
            std::lock_guard lock(m);
            if (auto node = behind.extract(marker)) work = node.mapped();
        }
        if (work) {
            char name[16];
            host.load()->work_name(work, name, sizeof name);
            host.load()->run_work(work);
        }
        table.release(marker);
    };
}

void forgetful(eventide_device& d) {
    immediate(d);
    d.submit = [](void*, eventide_work*) { return 0; };
}

// No fault: memory of its own.
void own_memory(eventide_device& d) {
    d.allocate = [](int32_t, size_t bytes) { return std::malloc(bytes); };
    d.free = [](int32_t, void* memory, size_t) { std::free(memory); };
}

// No fault but the name of the clock: the core then asks for the time.
void own_clock(eventide_device& d) {
    d.capabilities = [](int32_t i, eventide_capabilities* c) {
        capabilities(i, c);
        c->clock = "its own";
    };
}

using Change = void (*)(eventide_device&);

const std::map<std::string, Change> faults = {
    {"", [](eventide_device&) {}},
    {"old version", [](eventide_device& d) { d.version = 77; }},
    {"short table", [](eventide_device& d) { d.size -= 8; }},
    {"no type", [](eventide_device& d) { d.type = nullptr; }},
    {"odd type", [](eventide_device& d) { d.type = "two words"; }},
    {"immediate", immediate},
    {"looks back", look_back},
    {"immediate, runs nothing", forgetful},
    {"no capabilities", [](eventide_device& d) { d.capabilities = nullptr; }},
    {"no open_stream", [](eventide_device& d) { d.open_stream = nullptr; }},
    {"no close_stream", [](eventide_device& d) { d.close_stream = nullptr; }},
    {"no submit", [](eventide_device& d) { d.submit = nullptr; }},
    {"no make_marker", [](eventide_device& d) { d.make_marker = nullptr; }},
    {"no wait", [](eventide_device& d) { d.wait = nullptr; }},
    {"no poll", [](eventide_device& d) { d.poll = nullptr; }},
    {"no completed_at", [](eventide_device& d) { d.completed_at = nullptr; }},
    {"no release", [](eventide_device& d) { d.release = nullptr; }},
    {"no gate", [](eventide_device& d) { d.gate = nullptr; }},
    {"no open_gate", [](eventide_device& d) { d.open_gate = nullptr; }},
    {"no free", [](eventide_device& d) { d.allocate = [](int32_t, size_t bytes) { return std::malloc(bytes); }; }},
    {"only what is needed",
     [](eventide_device& d) { d.count = nullptr, d.description = nullptr, d.last_error = nullptr, d.join = nullptr; }},
    {"open_stream fails",
     [](eventide_device& d) {
         d.open_stream = [](int32_t, int32_t) { return say<void*>(nullptr, "no more queues"); };
     }},
    {"submit fails",
     [](eventide_device& d) { d.submit = [](void*, eventide_work*) { return say(7, "the queue is full"); }; }},
    {"submit fails in silence",
     [](eventide_device& d) {
         d.submit = [](void*, eventide_work*) { return 7; };
         d.last_error = nullptr;
     }},
    {"make_marker fails",
     [](eventide_device& d) { d.make_marker = [](void*, int) { return say<void*>(nullptr, "out of markers"); }; }},
    {"two markers only", keep_two_markers},
    {"wait fails", [](eventide_device& d) { d.wait = [](void*, void*) { return say(1, "too many waits"); }; }},
    {"gate fails", [](eventide_device& d) { d.gate = [](void*) { return say<void*>(nullptr, "no gate left"); }; }},
    {"marker fails",
     [](eventide_device& d) {
         d.poll = [](void* m) { return int(table.poll(m) == EVENTIDE_DONE ? EVENTIDE_FAILED : EVENTIDE_PENDING); };
         d.error = [](void*) { return "the bus fell off"; };
     }},
    {"work is lost", [](eventide_device& d) { d.submit = [](void*, eventide_work*) { return 0; }; }},
    {"work runs twice",
     [](eventide_device& d) {
         d.submit = [](void* s, eventide_work* w) { return table.submit(s, w) + table.submit(s, w); };
     }},
    {"open_stream throws",
     [](eventide_device& d) {
         d.open_stream = [](int32_t, int32_t) -> void* { throw std::runtime_error("thrown by open_stream"); };
     }},
    {"submit throws",
     [](eventide_device& d) {
         d.submit = [](void*, eventide_work*) -> int { throw std::runtime_error("thrown by submit"); };
     }},
    {"make_marker throws",
     [](eventide_device& d) {
         d.make_marker = [](void*, int) -> void* { throw std::runtime_error("thrown by make_marker"); };
     }},
    {"submit queues and throws",
     [](eventide_device& d) {
         d.submit = [](void* s, eventide_work* w) -> int {
             table.submit(s, w);
             throw std::runtime_error("thrown by submit");
         };
     }},
    {"wait throws",
     [](eventide_device& d) { d.wait = [](void*, void*) -> int { throw std::runtime_error("thrown by wait"); }; }},
    {"flush throws", [](eventide_device& d) { d.flush = [](void*) { throw std::runtime_error("thrown by flush"); }; }},
    {"poll throws",
     [](eventide_device& d) { d.poll = [](void*) -> int { throw std::runtime_error("thrown by poll"); }; }},
    {"join throws",
     [](eventide_device& d) { d.join = [](void*, int64_t) { throw std::runtime_error("thrown by join"); }; }},
    {"completed_at throws",
     [](eventide_device& d) {
         d.completed_at = [](void*) -> int64_t { throw std::runtime_error("thrown by completed_at"); };
     }},
    {"release throws",
     [](eventide_device& d) { d.release = [](void*) { throw std::runtime_error("thrown by release"); }; }},
    {"close_stream throws",
     [](eventide_device& d) { d.close_stream = [](void*) { throw std::runtime_error("thrown by close_stream"); }; }},
    {"gate throws",
     [](eventide_device& d) { d.gate = [](void*) -> void* { throw std::runtime_error("thrown by gate"); }; }},
    {"open_gate throws",
     [](eventide_device& d) {
         d.open_gate = [](void* token) {
             table.open_gate(token);
             throw std::runtime_error("thrown by open_gate");
         };
     }},
    {"error throws",
     [](eventide_device& d) {
         d.poll = [](void* m) { return int(table.poll(m) == EVENTIDE_DONE ? EVENTIDE_FAILED : EVENTIDE_PENDING); };
         d.error = [](void*) -> const char* { throw std::runtime_error("thrown by error"); };
     }},
    {"last_error throws",
     [](eventide_device& d) {
         d.submit = [](void*, eventide_work*) { return 7; };
         d.last_error = []() -> const char* { throw std::runtime_error("thrown by last_error"); };
     }},
    {"now throws",
     [](eventide_device& d) {
         own_clock(d);
         d.now = [](int32_t) -> int64_t { throw std::runtime_error("thrown by now"); };
     }},
    {"allocate throws",
     [](eventide_device& d) {
         own_memory(d);
         d.allocate = [](int32_t, size_t) -> void* { throw std::runtime_error("thrown by allocate"); };
     }},
    {"free throws",
     [](eventide_device& d) {
         own_memory(d);
         d.free = [](int32_t, void*, size_t) { throw std::runtime_error("thrown by free"); };
     }},
    {"capabilities throws",
     [](eventide_device& d) {
         d.capabilities = [](int32_t, eventide_capabilities*) { throw std::runtime_error("thrown by capabilities"); };
     }},
    {"poll gives 99", [](eventide_device& d) { d.poll = [](void*) { return 99; }; }},
    {"markers never end", [](eventide_device& d) { d.poll = [](void*) { return int(EVENTIDE_PENDING); }; }},
    {"done and then pending",
     [](eventide_device& d) {
         d.poll = [](void* m) {
             static std::map<void*, int> asked;
             const bool over = table.poll(m) == EVENTIDE_DONE && asked[m]++ % 2 == 0;
             return int(over ? EVENTIDE_DONE : EVENTIDE_PENDING);
         };
     }},
    {"times run backwards",
     [](eventide_device& d) { d.completed_at = [](void* m) { return INT64_MAX - table.completed_at(m); }; }},
};

}  // namespace

extern "C" EVENTIDE_EXPORT const eventide_device* eventide_device_entry(const eventide_host* eventide) {
    const char* given = std::getenv("PLUGIN_FAULT");
    const std::string fault = given ? given : "";
    if (fault == "entry throws") throw std::runtime_error("thrown by the entry");
    if (fault == "entry returns null") return nullptr;
    auto* device = new eventide_device(*flawless_entry(eventide));  // lives as long as the process
    faults.at(fault)(*device);
    return device;
}
