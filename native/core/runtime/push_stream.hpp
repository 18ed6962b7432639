// A stream of a push device, which reports completion itself: every item enters the device's queue under the stream's
// lock, and the device calls execute, pass and waited in that order.
#pragma once

#include "runtime/stream.hpp"

namespace eventide {

class PushStream final : public Stream {
  public:
    PushStream(Device& device, StreamOptions options) : Stream(device, std::move(options), StreamKind::push) {}

    uint64_t try_submit(Work& work, Ref<Marker>* behind, SubmitListener* listener) override;
    Ref<Marker> record(bool timing, uint64_t event) override;
    void wait(Marker& marker) override;
    bool idle() override;
    void close() noexcept override;
    void sleep_until_space(int64_t ns) override;

    // Called by the device, in stream order.
    void execute(Work& work) override;
    void pass(Marker& marker, int64_t time_ns);
    void waited(Marker& marker, uint64_t position);
    Mutex& lock() const noexcept { return m_; }
    // The same with lock() held, for a device that finds the stream idle.
    void pass_locked(Marker& marker, int64_t time_ns);
    // Returns the stream's reference to the marker. The caller drops it without the lock: that may run code of a
    // device.
    [[nodiscard]] Ref<Marker> waited_locked(Marker& marker, uint64_t position);

  private:
    Ref<Marker> queue_end(bool sync, bool patient, Ref<Failure>* healed) override;
    Ref<Marker> queue_marker_locked(uint64_t event, bool timing, bool sync);
};

}  // namespace eventide
