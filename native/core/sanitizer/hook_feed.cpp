#include "sanitizer/hook_feed.hpp"

#include <algorithm>
#include <span>

namespace eventide::sanitizer {
namespace {

uint64_t version_of(const HookRecord& r) noexcept {
    return r.version == hub::newest_version ? newest : r.version;
}

// Records whose device is that of their stream: the stream may have been made before the sanitizer was started.
bool names_its_stream(const HookRecord& r) noexcept {
    return r.stream && r.device.type >= 0 &&
           (r.hook == Hook::work_submission || r.hook == Hook::event_record || r.hook == Hook::event_wait ||
            r.hook == Hook::stream_synchronization);
}

}  // namespace

void Feed::on_hook(const HookRecord& r, uint64_t thread, uint32_t stack) {
    const At at{.thread = thread, .stack = stack, .work = r.work, .name = r.name, .inside = inside(thread)};
    if (names_its_stream(r) && met_.insert(r.stream).second) engine_.create_stream(r.stream, device_number(r.device));
    switch (r.hook) {
        case Hook::stream_creation:
            return created(r);
        case Hook::stream_deletion:
            return going(r.stream);
        case Hook::event_creation:
            return engine_.create_event(at, r.event);
        case Hook::event_deletion:
            return engine_.delete_event(r.event);
        case Hook::event_record:
            return engine_.record(at, r.event, version_of(r), r.stream);
        case Hook::event_wait:
            return engine_.wait(at, r.event, version_of(r), r.stream);
        case Hook::work_submission:
        case Hook::collective_launch:
        case Hook::host_access:
            return submitted(at, r);
        case Hook::event_synchronization:
        case Hook::stream_synchronization:
        case Hook::device_synchronization:
            return synchronized(at, r);
        case Hook::memory_allocation:
            return engine_.allocate(at, r.handle, r.bytes);
        case Hook::memory_deallocation:
            return engine_.free({.thread = thread, .stack = stack, .inside = at.inside}, r.handle, no_stream,
                                r.name == "dropped");
        case Hook::memory_use:
            return engine_.record_stream(at, r.handle, r.stream);
        case Hook::host_signal:
            return r.handle ? engine_.host_signal(at, r.handle) : left(thread, r);
        case Hook::host_wait:
            return observed_complete(at, r);
        case Hook::work_completion:
            return;
    }
}

uint64_t Feed::inside(uint64_t thread) const {
    if (inside_.empty()) return no_stream;
    const auto it = inside_.find(thread);
    return it == inside_.end() ? no_stream : it->second.back();
}

void Feed::entered(const At& at, const HookRecord& r) {
    std::vector<uint64_t>& streams = inside_[at.thread];
    if (streams.empty() || streams.back() != r.stream) streams.push_back(r.stream);  // else the end of one was lost
    engine_.enter_work(at, r.stream, r.work);
}

void Feed::left(uint64_t thread, const HookRecord& r) {
    const auto it = inside_.find(thread);
    if (it == inside_.end() || it->second.back() != r.stream) return;
    it->second.pop_back();
    if (it->second.empty()) inside_.erase(it);
    engine_.leave_work(r.stream);
}

void Feed::created(const HookRecord& r) {
    const uint64_t device = device_number(r.device);
    met_.insert(r.stream);
    engine_.create_stream(r.stream, device);
    if (r.group.empty()) return;
    Blocking& b = blocking_[device];
    if (r.group == "default" && b.stream == no_stream) {
        b.stream = r.stream;
        for (const uint64_t member : b.members) engine_.create_stream(member, device, r.stream);
    } else if (b.stream != r.stream && std::find(b.members.begin(), b.members.end(), r.stream) == b.members.end()) {
        b.members.push_back(r.stream);
        engine_.create_stream(r.stream, device, b.stream);
    }
}

void Feed::gone(const At& at, uint64_t stream) {
    met_.erase(stream);
    for (auto& [_, b] : blocking_) {
        if (b.stream == stream) b.stream = no_stream;
        std::erase(b.members, stream);
    }
    engine_.delete_stream(at, stream);
}

// A stream that is closed is synchronized next, and then deleted. One that is dropped still runs its queue, and its end
// is not observed; its slot is reused when enough later streams have been deleted.
void Feed::going(uint64_t stream) {
    constexpr size_t gone_to_keep = 256;
    if (!closing_.insert(stream).second) return;
    going_.push_back(stream);
    if (going_.size() <= gone_to_keep) return;
    if (closing_.erase(going_.front())) gone({}, going_.front());
    going_.pop_front();
}

void Feed::submitted(const At& at, const HookRecord& r) {
    const std::span reads(r.reads, r.read_count);
    const std::span writes(r.writes, r.write_count);
    if (r.hook == Hook::host_access && r.stream)
        engine_.work_access(at, r.stream, reads, writes);
    else if (r.hook == Hook::host_access)
        engine_.host_access(at, reads, writes);
    else
        engine_.submit(at, r.stream, reads, writes, r.accesses_known);
}

void Feed::synchronized(const At& at, const HookRecord& r) {
    if (!r.handle && r.end) return;
    if (!r.end && r.handle) {
        marked_.insert(r.handle);
        if (r.hook == Hook::event_synchronization) return engine_.mark_event(r.handle, r.event, version_of(r));
        if (r.hook == Hook::stream_synchronization) return engine_.mark_stream(at, r.handle, r.stream);
        return engine_.mark_device(at, r.handle, device_number(r.device));
    }
    const At here{.thread = at.thread, .stack = at.stack, .inside = at.inside};
    if (r.end && r.name == "gave up") {
        if (marked_.erase(r.handle)) engine_.forget_token(r.handle);
        return;
    }
    const bool closes = r.hook == Hook::stream_synchronization && closing_.erase(r.stream);
    if (closes) {  // closing after a synchronize makes neither redundant: the first counts as needed
        const uint64_t token = hub::next_token();
        engine_.host_signal(here, token);
        engine_.forget_token(token);
    }
    if (r.end && marked_.erase(r.handle)) {
        engine_.synchronize_marked(here, r.handle, !closes);
    } else if (r.hook == Hook::event_synchronization) {
        engine_.synchronize_event(here, r.event, version_of(r));  // its first record was missed, or it has only one
    } else if (r.hook == Hook::stream_synchronization) {
        engine_.synchronize_stream(here, r.stream);
    } else {
        engine_.synchronize_device(here, device_number(r.device));
    }
    if (closes) gone(here, r.stream);
}

void Feed::observed_complete(const At& at, const HookRecord& r) {
    if (r.handle) return engine_.host_wait(at, r.handle);
    if (r.event) return engine_.synchronize_event(at, r.event, version_of(r), false);
    const At here{.thread = at.thread, .stack = at.stack, .inside = at.inside};
    if (r.work && r.name == hub::inside_work) return entered(here, r);
    if (r.work && r.name == "cancelled") return engine_.cancel_work(r.stream, r.work);
    if (r.work) return engine_.synchronize_work(here, r.stream, r.work);
    engine_.synchronize_stream(at, r.stream, false);
}

}  // namespace eventide::sanitizer
