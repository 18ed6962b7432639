// The recorder as a listener: it writes every record of every hook in the same way.
#include <cstring>

#include "base/stacks.hpp"
#include "recorder/payload_records.hpp"
#include "runtime/device.hpp"
#include "runtime/stream.hpp"

namespace eventide::recorder {
namespace {

// The number of the name of a device ("cpu:0"), cached: devices::name makes a string, and may take a lock.
uint32_t device_number(const Put& put, DeviceId device) {
    if (device.type < 0) return 0;
    struct Known {
        uint32_t generation;
        DeviceId device;
        uint32_t number;
    };
    static thread_local Known known{};
    const uint32_t generation = put.lane().generation.load(std::memory_order_relaxed);
    if (known.generation != generation || !(known.device == device))
        known = {generation, device, put.name(devices::name(device))};
    return known.number;
}

void add_accesses(ByteWriter& out, const HookRecord& r) {
    out.varint(r.read_count);
    out.varint(r.write_count);
    for (uint32_t i = 0; i < r.read_count + r.write_count; ++i) {
        const Access& a = i < r.read_count ? r.reads[i] : r.writes[i - r.read_count];
        out.varint(a.address);
        out.varint(a.bytes);
        out.byte(uint8_t(a.possible) | uint8_t(a.stride ? 2 : 0));
        if (!a.stride) continue;
        out.varint(a.run);
        out.varint(a.stride);
    }
}

template <size_t n>
void add_fields(ByteWriter& out, const uint64_t (&fields)[n]) {
    uint64_t mask = 0;
    for (size_t i = 0; i < n; ++i) mask |= uint64_t(fields[i] != 0) << i;
    out.varint(mask);
    for (size_t i = 0; i + 1 < n; ++i)  // the last one only says that accesses follow
        if (fields[i]) out.varint(fields[i]);
}

// 0 means "absent", so differences are stored plus one.
uint64_t difference(int64_t value, int64_t from) {
    return zigzag(value - from) + 1;
}

class HookRecorder final : public hub::Listener {
  public:
    void on_hook(const HookRecord& r) override {
        const uint32_t stack = captures_stacks.load(std::memory_order_relaxed) ? stacks::capture() : 0;
        Put put;
        if (!put) return;
        const bool timed = r.start_ns || r.end_ns;
        const int64_t time = timed ? r.end_ns : r.time_ns;
        const uint64_t fields[] = {
            device_number(put, r.device),
            r.stream,
            r.event,
            r.version,
            r.work,
            r.handle,
            r.bytes,
            timed ? difference(r.start_ns, r.end_ns) : 0,
            uint64_t(r.waited_ns),
            uint64_t(r.cpu_ns),
            put.name(r.group),
            put.stack(stack),
            uint64_t(r.read_count + r.write_count),
        };
        uint8_t bytes[largest_payload];
        ByteWriter out(bytes, sizeof bytes);
        add_fields(out, fields);
        const size_t plain = out.size();
        bool known = r.accesses_known;
        if (r.read_count + r.write_count) add_accesses(out, r);
        if (out.full()) {  // thousands of ranges: the accesses become unknown, and that is counted
            out.cut(plain);
            out.varint(0);
            out.varint(0);
            known = false;
            put.count_truncated(Kind::hook);
        }
        const uint64_t a = uint64_t(r.hook) | uint64_t(r.end) << 8 | uint64_t(r.outcome) << 9 | uint64_t(known) << 12;
        put.with_payload(Kind::hook, put.name(r.name), a, uint64_t(time), out.data(), out.size());
    }
};

HookRecorder hook_recorder;

}  // namespace

void listen_to_hooks() {
    for (int i = 0; i < hook_count; ++i) hub::add(Hook(i), hook_recorder);
    for (const Ref<Stream>& s : Stream::all())  // without it the trace has no order between these streams
        if (s->default_role() != DefaultStreamRole::none && !s->closed()) hook_recorder.on_hook(s->creation());
    hub::cpu_time_wanted.store(true, std::memory_order_relaxed);
}

void stop_listening() noexcept {
    hub::cpu_time_wanted.store(false, std::memory_order_relaxed);
    for (int i = 0; i < hook_count; ++i) hub::remove(Hook(i), hook_recorder);
}

}  // namespace eventide::recorder
