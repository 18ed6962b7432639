// A stream of an immediate device, where work is what a function enqueues:
//
//   submit:  [start marker]  fn, on the caller's thread, no lock held  ->  hook  ->  marker behind, which ends the work
//
// What fn raises is known at once, but holds from its marker on: what was recorded before still ends well. So there are
// two states. `fate_` is that of the host's end of the queue: the next submission is refused with it, a synchronize
// that is queued clears it. `poison_` is that of the device's end, where markers pass.
//
//   member                         guarded by
//   fate_, entered_, finish_due_   m_
#pragma once

#include "runtime/polled_stream.hpp"

namespace eventide {

class ImmediateStream final : public PolledStream {
  public:
    ImmediateStream(Device& device, StreamOptions options)
        : PolledStream(device, std::move(options), StreamKind::immediate) {}

    uint64_t try_submit(Work& work, Ref<Marker>* behind, Submitted* told) override;
    void execute(Work& work) override;
    void finish() override;

  private:
    bool known_idle_locked(bool patient) const override;
    void publish_locked(Marker& marker) override;
    void publish_wait_locked(Marker& marker) override;
    void judge_locked(Marker& marker, Passed& passed, Ref<Failure>& failure) override;
    Outcome finished_outcome(Passed& passed) override;
    Ref<Failure> heal_locked() override;
    void poison_locked(Ref<Failure> failure) override;
    void abandoned_locked() override;
    uint32_t own_references_locked() const override { return fate_ == poison_ ? 2 : 1; }

    bool enter(Work& work, Ref<Marker>& start, Ref<Failure>& fate);
    void run_now(Work& work, const Ref<Failure>& fate);
    Ref<Marker> mark_work(Work& work);
    void withdraw(Work& work, Marker* start);
    void leave();

    Ref<Failure> fate_;        // what the next submission is refused with
    uint32_t entered_ = 0;     // how many are inside submit
    bool finish_due_ = false;  // the last of them finishes the stream
};

}  // namespace eventide
