#include "devices/plugin.hpp"

#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/host_lock.hpp"
#include "base/process.hpp"
#include "base/thread.hpp"
#include "devices/host_memory.hpp"
#include "eventide/device.h"
#include "runtime/device.hpp"
#include "runtime/stream.hpp"

namespace eventide::plugin {
namespace {

// The handle of work that a plug-in gets. It lives until the marker behind the work is released, as the header
// promises, so that a run too many does nothing.
struct Handle {
    std::atomic<Work*> work;  // null once it runs or was taken back
    Stream* stream;
    std::atomic<bool> ran = false;
};

Handle* as_handle(eventide_work* work) {
    return reinterpret_cast<Handle*>(work);
}

void run_work(eventide_work* given) {
    Handle* h = as_handle(given);
    Work* work = h->work.exchange(nullptr);
    if (!work) return;
    h->ran.store(true, std::memory_order_relaxed);
    HostLock* host = work->needs_host_lock() ? HostLock::installed() : nullptr;
    if (host && process::abandoned.load(std::memory_order_seq_cst)) park_thread();
    const int how = host ? host->enter() : 0;
    h->stream->execute(*work);
    if (host) host->leave(how);
}

// Reads a property of the work that may need the host lock.
template <class F>
auto ask(eventide_work* given, F f) {
    HostLock* host = HostLock::installed();
    const int how = host ? host->enter() : 0;
    auto answer = f(as_handle(given)->work.load());
    if (host) host->leave(how);
    return answer;
}

void work_name(eventide_work* given, char* buffer, size_t size) {
    if (!size) return;
    const std::string name = ask(given, [](Work* w) { return w ? w->name() : std::string(); });
    const size_t n = std::min(size - 1, name.size());
    std::memcpy(buffer, name.data(), n);
    buffer[n] = 0;
}

double work_duration(eventide_work* given) {
    return ask(given, [](Work* w) { return w ? w->duration() : -1; });
}

const eventide_host host_table{EVENTIDE_DEVICE_VERSION, sizeof(eventide_host), run_work, work_name, work_duration};

// The table, and the name under which it is registered.
struct Plugin {
    const eventide_device& table;
    const std::string type;

    // A plug-in must not throw. If it does, the exception is reported and not passed on.
    template <class F>
    auto call(const char* function, F f) const -> decltype(f()) {
        try {
            return f();
        } catch (const std::exception& e) {
            throw Error(ErrorKind::device, std::string(function) + "() of device '" + type + "' threw " + e.what());
        } catch (abi::__forced_unwind&) {
            throw;  // the thread ends here: see thread.hpp
        } catch (...) {
            throw Error(ErrorKind::device, std::string(function) + "() of device '" + type +
                                               "' threw something that is not a std::exception");
        }
    }

    [[noreturn]] void refuse(const char* function) const {
        const char* why = table.last_error ? call("last_error", [&] { return table.last_error(); }) : nullptr;
        throw Error(ErrorKind::device, std::string(function) + "() of device '" + type + "' failed" +
                                           (why ? std::string(": ") + why : ""));
    }
};

void* marker_of(const Marker& marker) {
    return reinterpret_cast<void*>(marker.handle);
}

class PluginStream final : public DeviceStream {
  public:
    PluginStream(Stream& stream, const Plugin& plugin, void* handle)
        : stream_(stream), p_(plugin), d_(plugin.table), handle_(handle) {}

    void submit(Work& work) override {
        auto* h = new Handle{&work, &stream_};
        work.device_data = h;
        if (!p_.call("submit", [&] { return d_.submit(handle_, reinterpret_cast<eventide_work*>(h)); })) return;
        if (!h->ran) {  // the plug-in does not own it
            work.device_data = nullptr;
            delete h;
        }
        p_.refuse("submit");
    }

    void mark(Marker& marker) override {
        if (marker.work) marker.work_data = marker.work->device_data;
        marker.handle = uint64_t(p_.call("make_marker", [&] { return d_.make_marker(handle_, marker.timing()); }));
        if (!marker.handle) p_.refuse("make_marker");
    }

    void wait(Marker& marker, uint64_t) override {
        if (&marker.stream().device != &stream_.device)
            bridge(marker);
        else if (p_.call("wait", [&] { return d_.wait(handle_, marker_of(marker)); }))
            p_.refuse("wait");
    }

    void flush() override {
        if (d_.flush) p_.call("flush", [&] { d_.flush(handle_); });
    }

    MarkerState poll(Marker& marker) override {
        const int state = p_.call("poll", [&] { return d_.poll(marker_of(marker)); });
        if (state < EVENTIDE_PENDING || state > EVENTIDE_FAILED)
            throw Error(ErrorKind::device, "poll() of device '" + p_.type + "' gave " + std::to_string(state) +
                                               ", which is not an eventide_marker_state");
        return MarkerState(state);
    }

    void join(Marker& marker, int64_t ns) override {
        if (d_.join) return p_.call("join", [&] { d_.join(marker_of(marker), ns); });
        const timespec pause{0, long(std::min<int64_t>(ns, 200'000))};
        nanosleep(&pause, nullptr);
    }

    Ref<Failure> failure(Marker& marker) override {
        if (!marker.handle || poll(marker) != MarkerState::failed) return {};
        const char* why = d_.error ? p_.call("error", [&] { return d_.error(marker_of(marker)); }) : nullptr;
        return Ref<Failure>(new Failure("device '" + p_.type + "' failed" + (why ? std::string(": ") + why : "")));
    }

    int64_t completed_at(Marker& marker) override {
        return p_.call("completed_at", [&] { return d_.completed_at(marker_of(marker)); });
    }
    int64_t now() override {
        return d_.now ? p_.call("now", [&] { return d_.now(stream_.device_id.index); }) : now_ns();
    }

    bool reclaim(Work& work) override {
        auto* h = static_cast<Handle*>(work.device_data);
        return h && h->work.exchange(nullptr) != nullptr;
    }
    void forget(Marker& marker) override {
        auto* h = static_cast<Handle*>(std::exchange(marker.work_data, nullptr));
        // A plug-in that failed to make or to poll the marker may still run the work: it keeps a handle that does
        // nothing.
        const std::unique_ptr<Handle> dropped(h && h->ran ? h : nullptr);
        if (marker.handle) p_.call("release", [&] { d_.release(marker_of(marker)); });
    }
    void forget(Work& work) override {
        work.device_data = nullptr;  // owned by the marker; if submit threw, a plug-in may still hold it
    }
    void finish() override {
        p_.call("close_stream", [&] { d_.close_stream(handle_); });
    }
    uint64_t native_handle() const override { return uint64_t(handle_); }

  private:
    class OpenGate final : public Task {
      public:
        OpenGate(PluginStream& held, void* token) : held_(held), stream_(&held.stream_), token_(token) {}
        // If this fails the stream may be blocked forever: report it as the error of the stream.
        void run() override {
            try {
                held_.p_.call("open_gate", [&] { held_.d_.open_gate(token_); });
            } catch (const Error& e) {
                stream_->set_error(Ref<Failure>(new Failure(e.what())));
            }
        }
        bool needs_host_lock() const override { return false; }
        int16_t device_type() const override { return stream_->device_id.type; }

      private:
        PluginStream& held_;
        const Ref<Stream> stream_;  // owns held_
        void* const token_;
    };

    // A marker of another device type: the host holds this stream until it has ended.
    void bridge(Marker& marker) {
        void* token = p_.call("gate", [&] { return d_.gate(handle_); });
        if (!token) p_.refuse("gate");
        auto* task = new OpenGate(*this, token);
        if (marker.when_ended(task)) return;
        task->run();
        delete task;
    }

    Stream& stream_;
    const Plugin& p_;
    const eventide_device& d_;
    void* const handle_;
};

class PluginDevice final : public Device {
  public:
    PluginDevice(const eventide_device& d, std::string type, std::string path)
        : p_{d, std::move(type)}, d_(d), path_(std::move(path)) {}

    std::string type() const override { return p_.type; }
    int count() const override {
        return d_.count ? p_.call("count", [&] { return d_.count(); }) : 1;
    }
    std::string description(int index) const override {
        const char* text = d_.description ? p_.call("description", [&] { return d_.description(index); }) : nullptr;
        return text ? text : path_;
    }
    Capabilities capabilities(int index) const override {
        eventide_capabilities c{};
        c.size = sizeof c;
        p_.call("capabilities", [&] { d_.capabilities(index, &c); });
        return {bool(c.deferred),
                bool(c.timing),
                bool(c.join_timeout),
                bool(c.gate),
                bool(c.copy),
                bool(c.host_visible),
                bool(c.concurrent),
                bool(c.priorities),
                bool(c.default_stream_blocks),
                bool(c.heals),
                c.clock ? c.clock : "unknown"};
    }
    std::unique_ptr<DeviceStream> open_stream(Stream& stream) override {
        void* handle =
            p_.call("open_stream", [&] { return d_.open_stream(stream.options.index, stream.options.priority); });
        if (!handle) p_.refuse("open_stream");
        return std::make_unique<PluginStream>(stream, p_, handle);
    }
    bool read_clock(int index, ClockSample& s) override {
        if (!d_.now) return false;
        s.before = now_ns();
        s.device = p_.call("now", [&] { return d_.now(index); });
        s.after = now_ns();
        return true;
    }
    void* allocate(int index, size_t bytes) override {
        if (!d_.allocate) return allocate_host(bytes);
        return p_.call("allocate", [&] { return d_.allocate(index, bytes); });
    }
    void free(int index, void* memory, size_t bytes) override {
        if (!d_.allocate) return std::free(memory);
        try {
            p_.call("free", [&] { d_.free(index, memory, bytes); });
        } catch (const Error&) {
            // The memory is no longer used; this may be called from a destructor.
        }
    }

  private:
    const Plugin p_;
    const eventide_device& d_;
    const std::string path_;
};

// What is missing in the table, by name; "" if nothing is.
std::string missing(const eventide_device& d, const std::string& type) {
    const struct {
        const char* name;
        bool there;
    } needed[] = {
        {"capabilities", d.capabilities != nullptr},
        {"open_stream", d.open_stream != nullptr},
        {"close_stream", d.close_stream != nullptr},
        {"submit", d.submit != nullptr},
        {"make_marker", d.make_marker != nullptr},
        {"wait", d.wait != nullptr},
        {"poll", d.poll != nullptr},
        {"completed_at", d.completed_at != nullptr},
        {"release", d.release != nullptr},
    };
    for (auto& f : needed)
        if (!f.there) return f.name;
    eventide_capabilities c{};
    c.size = sizeof c;
    Plugin{d, type}.call("capabilities", [&] { d.capabilities(0, &c); });
    if (c.gate && (!d.gate || !d.open_gate)) return "gate or open_gate (it has the capability 'gate')";
    if (d.allocate && !d.free) return "free (it has allocate)";
    return "";
}

bool is_name(const char* s) {
    if (!s || !*s || std::isdigit(*s)) return false;
    for (; *s; ++s)
        if (!std::isalnum((unsigned char)*s) && *s != '_') return false;
    return true;
}

}  // namespace

std::string load(const std::string& path, const std::string& name) {
    auto fail = [&](const std::string& why) { return Error(ErrorKind::device, path + " " + why); };
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw Error(ErrorKind::device, std::string("cannot load ") + dlerror());
    // Closed again if it turns out to be no device; a registered one stays for the life of the process.
    std::unique_ptr<void, int (*)(void*)> guard(library, dlclose);
    auto entry = reinterpret_cast<eventide_device_entry_function>(dlsym(library, "eventide_device_entry"));
    if (!entry) throw fail("is not an Eventide device: it does not export eventide_device_entry");
    const eventide_device* d;
    try {
        d = entry(&host_table);
    } catch (const std::exception& e) {
        throw fail(std::string("threw from eventide_device_entry: ") + e.what());
    }
    if (!d) throw fail("cannot run here: eventide_device_entry returned null");
    if (d->version != EVENTIDE_DEVICE_VERSION)
        throw fail("was built for version " + std::to_string(d->version) +
                   " of eventide/device.h, this Eventide has version " + std::to_string(EVENTIDE_DEVICE_VERSION) +
                   "; build it again with the header of this version");
    if (d->size != sizeof(eventide_device))
        throw fail("has a table of " + std::to_string(d->size) + " bytes, not " +
                   std::to_string(sizeof(eventide_device)) +
                   "; set its member size to sizeof(eventide_device) and build it with the header of this version");
    if (!is_name(d->type)) throw fail("has no device type: a name of letters, digits and _ is needed");
    const std::string type = name.empty() ? d->type : name;
    if (const std::string m = missing(*d, type); !m.empty()) throw fail("lacks the function " + m);
    devices::add(std::make_unique<PluginDevice>(*d, type, path));
    guard.release();
    return type;
}

}  // namespace eventide::plugin
