// A device guard of torch's for the accelerator type MTIA, over a table of eventide/device.h: torch.Stream, torch.Event
// and torch.accelerator then run on Eventide's streams. There are no tensors on it: streams and events are all it has.
//
// A torch stream is an id here, a stream of the table there. A torch event is a holder of the marker recorded last, so
// its id stays while its marker changes: versions are right by construction.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/MTIAHooksInterface.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <ctime>
#include <mutex>
#include <utility>
#include <vector>

#include <eventide/device.h>

namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::DeviceType;
using c10::Stream;
using c10::StreamId;

constexpr DeviceIndex devices = 2;
constexpr int64_t slice_ns = 50'000'000;

const eventide_device* table = nullptr;

// All streams that were ever made, by id; a few of them are given out again. Id 0 .. devices-1: the default streams.
struct Streams {
    std::mutex m;
    std::vector<void*> handles;
    std::vector<StreamId> spare[devices];

    void* open(DeviceIndex device, int priority) {
        void* handle = table->open_stream(0, priority);
        TORCH_CHECK(handle, "Eventide opens no stream for mtia:", int(device), ": ", table->last_error());
        return handle;
    }
    // The default streams are opened with the first that is asked for.
    void prepare() {
        while (handles.size() < size_t(devices)) handles.push_back(open(DeviceIndex(handles.size()), 0));
    }
    StreamId make(DeviceIndex device, int priority) {
        std::lock_guard lock(m);
        prepare();
        auto& free = spare[device];
        if (!free.empty()) {
            const StreamId id = free.back();
            free.pop_back();
            return id;
        }
        handles.push_back(open(device, priority));
        return StreamId(handles.size() - 1);
    }
    void give_back(DeviceIndex device, StreamId id) {
        std::lock_guard lock(m);
        spare[device].push_back(id);
    }
    int64_t count_spare() {
        std::lock_guard lock(m);
        int64_t count = 0;
        for (const auto& free : spare) count += int64_t(free.size());
        return count;
    }
    void* at(StreamId id) {
        std::lock_guard lock(m);
        prepare();
        return handles.at(size_t(id));
    }
    std::vector<void*> all() {
        std::lock_guard lock(m);
        return handles;
    }
};

Streams& streams() {
    static Streams* s = new Streams;  // leaked: threads may outlive static destruction
    return *s;
}

thread_local DeviceIndex current_device = 0;
thread_local StreamId current_stream[devices] = {0, 1};

struct Event {
    std::mutex m;
    void* marker = nullptr;

    ~Event() {
        if (marker) table->release(marker);
    }
};

void wait_for(void* marker) {
    while (table->poll(marker) == EVENTIDE_PENDING) table->join(marker, slice_ns);
    if (table->poll(marker) == EVENTIDE_FAILED) {
        const char* why = table->error(marker);
        TORCH_CHECK(false, "work before the event failed: ", why ? why : "");
    }
}

struct OwnMarker {
    explicit OwnMarker(void* stream) : marker(table->make_marker(stream, 0)) {
        TORCH_CHECK(marker, "Eventide makes no marker: ", table->last_error());
    }
    ~OwnMarker() { table->release(marker); }
    void* const marker;
};

Stream stream_on(DeviceIndex device, StreamId id) {
    return Stream(Stream::UNSAFE, Device(DeviceType::MTIA, device), id);
}

DeviceIndex checked(DeviceIndex device) {
    if (device < 0) device = current_device;
    TORCH_CHECK(device < devices, "there is no device mtia:", int(device), "; there are ", int(devices));
    return device;
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
    DeviceType type() const override { return DeviceType::MTIA; }
    Device exchangeDevice(Device d) const override {
        const Device before = getDevice();
        setDevice(d);
        return before;
    }
    Device getDevice() const override { return Device(DeviceType::MTIA, current_device); }
    void setDevice(Device d) const override { current_device = checked(d.index()); }
    void uncheckedSetDevice(Device d) const noexcept override {
        if (d.index() >= 0 && d.index() < devices) current_device = d.index();
    }
    DeviceIndex deviceCount() const noexcept override { return table ? devices : 0; }

    Stream getStream(Device d) const override {
        const DeviceIndex i = checked(d.index());
        return stream_on(i, current_stream[i]);
    }
    Stream getDefaultStream(Device d) const override {
        const DeviceIndex i = checked(d.index());
        return stream_on(i, i);
    }
    Stream getNewStream(Device d, int priority) const override {
        const DeviceIndex i = checked(d.index());
        return stream_on(i, streams().make(i, priority));
    }
    Stream getStreamFromGlobalPool(Device d, bool) const override { return getNewStream(d, 0); }
    Stream exchangeStream(Stream s) const override {
        const DeviceIndex i = checked(s.device_index());
        const Stream before = stream_on(i, current_stream[i]);
        current_stream[i] = s.id();
        return before;
    }
    void* getStreamNativeHandle(const Stream s) const override { return streams().at(s.id()); }
    bool queryStream(const Stream& s) const override {
        OwnMarker end(streams().at(s.id()));
        return table->poll(end.marker) != EVENTIDE_PENDING;
    }
    void synchronizeStream(const Stream& s) const override {
        OwnMarker end(streams().at(s.id()));
        wait_for(end.marker);
    }
    void synchronizeDevice(const DeviceIndex) const override {
        for (void* stream : streams().all()) {
            OwnMarker end(stream);
            wait_for(end.marker);
        }
    }

    void record(void** event, const Stream& s, const DeviceIndex, const c10::EventFlag flag) const override {
        if (!*event) *event = new Event;
        auto* e = static_cast<Event*>(*event);
        void* marker = table->make_marker(streams().at(s.id()), flag == c10::EventFlag::BACKEND_DEFAULT);
        TORCH_CHECK(marker, "Eventide makes no marker: ", table->last_error());
        std::lock_guard lock(e->m);
        if (e->marker) table->release(e->marker);
        e->marker = marker;
    }
    void block(void* event, const Stream& s) const override {
        auto* e = static_cast<Event*>(event);
        if (!e) return;
        std::lock_guard lock(e->m);
        if (!e->marker) return;
        TORCH_CHECK(table->wait(streams().at(s.id()), e->marker) == 0, "Eventide cannot wait: ", table->last_error());
    }
    bool queryEvent(void* event) const override {
        auto* e = static_cast<Event*>(event);
        if (!e) return true;
        std::lock_guard lock(e->m);
        return !e->marker || table->poll(e->marker) != EVENTIDE_PENDING;
    }
    void synchronizeEvent(void* event) const override {
        auto* e = static_cast<Event*>(event);
        while (!queryEvent(e)) {
            const timespec pause{0, 100'000};
            nanosleep(&pause, nullptr);
        }
        if (!e) return;
        std::lock_guard lock(e->m);
        if (e->marker) wait_for(e->marker);
    }
    void destroyEvent(void* event, const DeviceIndex) const noexcept override { delete static_cast<Event*>(event); }
    double elapsedTime(void* start, void* end, const DeviceIndex) const override {
        auto *a = static_cast<Event*>(start), *b = static_cast<Event*>(end);
        TORCH_CHECK(a && b && a->marker && b->marker, "both events must be recorded");
        TORCH_CHECK(queryEvent(a) && queryEvent(b), "both events must be completed");
        return double(table->completed_at(b->marker) - table->completed_at(a->marker)) * 1e-6;
    }
};

// torch finds it in its registry, by the name "MTIAHooks", at the first query about MTIA.
struct Hooks final : at::MTIAHooksInterface {
    bool hasMTIA() const override { return true; }
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return table != nullptr; }
    bool hasPrimaryContext(DeviceIndex) const override { return true; }
    DeviceIndex deviceCount() const override { return table ? devices : 0; }
    DeviceIndex getDeviceCount() const override { return deviceCount(); }
    DeviceIndex getCurrentDevice() const override { return current_device; }
    void setCurrentDevice(DeviceIndex d) const override { current_device = checked(d); }
    DeviceIndex exchangeDevice(DeviceIndex d) const override {
        return std::exchange(current_device, d < 0 ? current_device : checked(d));
    }
    DeviceIndex maybeExchangeDevice(DeviceIndex d) const override { return exchangeDevice(d); }
    // For torch's initialization only: there is nothing to draw numbers for.
    const at::Generator& getDefaultGenerator(DeviceIndex) const override { return at::detail::getDefaultCPUGenerator(); }
    void deviceSynchronize(DeviceIndex d) const override { Guard().synchronizeDevice(d); }
    Stream getCurrentStream(DeviceIndex d) const override { return Guard().getStream(Device(DeviceType::MTIA, d)); }
    Stream getDefaultStream(DeviceIndex d) const override {
        return Guard().getDefaultStream(Device(DeviceType::MTIA, d));
    }
    void setCurrentStream(const Stream& s) const override { Guard().exchangeStream(s); }
};

C10_REGISTER_GUARD_IMPL(MTIA, Guard)

}  // namespace

namespace at {
C10_REGISTER_CLASS(MTIAHooksRegistry, MTIAHooks, ::Hooks)
}  // namespace at

// For Python, by ctypes.
extern "C" EVENTIDE_EXPORT void eventide_stand_in_connect(const eventide_device* given) {
    table = given;
}
extern "C" EVENTIDE_EXPORT void* eventide_stand_in_stream(int64_t id) {
    return streams().at(id);
}
extern "C" EVENTIDE_EXPORT void eventide_stand_in_give_back(int device, int64_t id) {
    streams().give_back(DeviceIndex(device), id);
}
extern "C" EVENTIDE_EXPORT int64_t eventide_stand_in_spare() {
    return streams().count_spare();
}
