// Hooks: which listeners are called, and that none is called after its removal.
#include <vector>

#include "check.hpp"
#include "fakes.hpp"
#include "hooks/hub.hpp"
#include "runtime/event.hpp"
#include "runtime/memory.hpp"

using namespace fakes;

namespace {

class Ear final : public hub::Listener {
  public:
    void on_hook(const HookRecord& r) override {
        r.stamp();
        if (r.hook == hook) records.push_back(r);
    }
    explicit Ear(Hook h) : hook(h) { hub::add(h, *this); }
    ~Ear() { hub::remove(hook, *this); }
    const Hook hook;
    std::vector<HookRecord> records;
};

}  // namespace

TEST(without_listeners_the_mask_is_zero) {
    CHECK(hub::listening_mask.load() == 0);
}

TEST(a_listener_is_called_until_it_is_removed) {
    auto s = open_stream();
    Ref<Event> e(new Event({}));
    {
        Ear ear(Hook::event_record);
        CHECK(hub::listening(Hook::event_record));
        CHECK(!hub::listening(Hook::event_wait));
        e->record(*s);
        e->record(*s);
        CHECK(ear.records.size() == 2);
        CHECK(ear.records[1].event == e->id && ear.records[1].stream == s->id && ear.records[1].version == 2);
        CHECK(ear.records[0].time_ns > 0 && ear.records[0].thread > 0);
    }
    CHECK(!hub::listening(Hook::event_record));
    s->close();
}

TEST(creation_comes_with_the_first_record_and_deletion_only_for_the_recorded) {
    auto s = open_stream();
    Ear born(Hook::event_creation), gone(Hook::event_deletion);
    Ref<Event> used(new Event({})), unused(new Event({}));
    CHECK(born.records.empty());
    used->record(*s);
    used->record(*s);
    CHECK(born.records.size() == 1 && born.records[0].event == used->id);
    used->retire(used->lease());
    unused->retire(unused->lease());
    CHECK(gone.records.size() == 1 && gone.records[0].event == used->id);
    s->close();
}

TEST(freeing_is_reported_before_the_memory_is_freed_and_waits_for_its_streams) {
    auto s = open_stream();
    Ear freed(Hook::memory_deallocation);
    Gate gate;
    auto memory = Memory::allocate({0, 0}, 64);
    auto* bytes = static_cast<char*>(memory->data);
    gate.hold(*s);
    auto read = submit(*s, quietly([bytes] { CHECK(bytes[0] == 'x'); }));
    bytes[0] = 'x';
    memory->record_stream(*s);
    memory->free();
    memory->free();
    CHECK(freed.records.size() == 1 && freed.records[0].bytes == 64);
    gate.open();  // under ASan the read proves that the memory was still there
    CHECK(synchronize(*s) == "");
    CHECK(read->load() == Call::ok);
    s->close();
}

TEST(the_number_of_native_listeners_is_limited_and_the_error_says_so) {
    std::vector<std::unique_ptr<Ear>> ears;
    for (int i = 0; i < hub::max_listeners; ++i) ears.push_back(std::make_unique<Ear>(Hook::event_wait));
    CHECK_THROWS(Ear(Hook::event_wait), ErrorKind::usage, "event_wait");
}

MAIN
