// A stream of an immediate device, where work is what a function enqueues:
//
//   submit:  [start marker]  fn, on the caller's thread, no lock held  ->  hook  ->  marker that completes the work
//
// An exception of fn is available at once, but applies from its marker on: earlier records are not affected. So there
// are two error states. `next_submit_error_` is that of the tail of the queue: the next submission is skipped with it,
// and queueing a synchronize clears it. `stream_error_` is that of the head, where the device passes markers.
//
//   member                                      guarded by
//   next_submit_error_, entered_, finish_due_   m_
#pragma once

#include "runtime/polled_stream.hpp"

namespace eventide {

class ImmediateStream final : public PolledStream {
  public:
    ImmediateStream(Device& device, StreamOptions options)
        : PolledStream(device, std::move(options), StreamKind::immediate) {}

    uint64_t try_submit(Work& work, Ref<Marker>* behind, SubmitListener* listener) override;
    void execute(Work& work) override;
    void finish() override;

  private:
    bool known_idle_locked(bool patient) const override;
    void publish_locked(Places& place) override;
    void publish_wait_locked(Marker& marker) override;
    void combine_errors_locked(Marker& marker, Passed& passed, Ref<Failure>& failure) override;
    Outcome finished_outcome(Passed& passed) override;
    Ref<Failure> heal_locked() override;
    void set_error_locked(Ref<Failure> failure) override;
    void abandoned_locked() override;
    uint32_t own_references_locked() const override { return next_submit_error_ == stream_error_ ? 2 : 1; }

    bool enter(Work& work, Places& end, Ref<Marker>& start, Ref<Failure>& error);
    std::string run_now(Work& work, const Ref<Failure>& error);
    Ref<Marker> mark_work(Work& work, Places& end, std::string raised);
    void withdraw(Work& work, Marker* start);
    void leave();

    Ref<Failure> next_submit_error_;  // the next submission is skipped with this error
    uint32_t entered_ = 0;            // threads inside submit
    bool finish_due_ = false;         // the last of them finishes the stream
};

}  // namespace eventide
