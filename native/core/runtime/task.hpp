// Something the notifier thread runs once: a notify callback, a Future's callbacks, the release of a buffer.
#pragma once

namespace eventide {

class Task {
  public:
    virtual ~Task() = default;
    virtual void
    run() = 0;  // called once; the notifier deletes the task afterwards, with the lock still held if needed
    virtual bool needs_host_lock() const { return true; }
    Task* next = nullptr;  // owned by whatever list holds it
};

}  // namespace eventide
