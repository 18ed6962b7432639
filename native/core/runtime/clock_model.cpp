#include "runtime/clock_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace eventide {
namespace {

constexpr size_t baseline = 64;  // anchors over which a rate is measured

int64_t rounded(double x) {
    return int64_t(std::llround(x));
}

}  // namespace

void ClockModel::add(const ClockSample& s) {
    if (s.after < s.before) return;
    const int64_t middle = s.before + (s.after - s.before) / 2;
    const Anchor fresh{s.device, s.device - middle, (s.after - s.before) / 2 + 1};
    std::lock_guard lock(m_);
    ++samples_;
    if (anchors_.empty()) {
        anchors_.push_back(fresh);
        return;
    }
    Anchor& last = anchors_.back();
    if (fresh.device < last.device) {
        if (middle <= last.device - last.offset) return;  // older than the last anchor
        anchors_.assign(1, fresh);                        // the clock was set back: earlier anchors are void
        return;
    }
    widen_wander_locked(fresh);
    if (anchors_.size() > 1 && fresh.device - anchors_[anchors_.size() - 2].device < spacing_) {
        if (fresh.error <= last.error) last = fresh;  // the tightest of its interval
        return;
    }
    anchors_.push_back(fresh);
    if (anchors_.size() > most_anchors) thin_locked();
}

// A new anchor outside of the predicted interval shows that the rate varies more than assumed.
void ClockModel::widen_wander_locked(const Anchor& fresh) {
    const int64_t distance = fresh.device - anchors_.back().device;
    if (distance <= 0) return;
    const Estimate predicted = at_locked(fresh.device);
    const double beyond = double(std::llabs(fresh.offset - predicted.offset)) - double(predicted.error + fresh.error);
    if (beyond <= 0) return;
    wander_ = std::min(max_drift, wander_ + beyond / double(distance));
}

void ClockModel::thin_locked() {
    size_t kept = 1;
    for (size_t i = 2; i < anchors_.size(); i += 2) anchors_[kept++] = anchors_[i];
    anchors_[kept - 1] = anchors_.back();
    anchors_.resize(kept);
    spacing_ *= 2;
}

// Whether no allowed drift explains the change from this anchor to the next one.
bool ClockModel::stepped_locked(size_t before) const {
    const Anchor &a = anchors_[before], &b = anchors_[before + 1];
    const double way = double(std::llabs(b.offset - a.offset));
    return way > max_drift * double(b.device - a.device) + double(a.error + b.error);
}

// The rate at one end: taken to the inner anchor, with no step in between, that gives the smallest error.
ClockModel::Rate ClockModel::rate_locked(size_t last, int direction) const {
    Rate best{0, max_drift};
    size_t first = last;
    for (size_t n = 0; n < baseline; ++n) {
        if (direction > 0 ? first == 0 : first + 1 == anchors_.size()) break;
        if (stepped_locked(direction > 0 ? first - 1 : first)) break;
        first = direction > 0 ? first - 1 : first + 1;
        const Anchor &a = anchors_[std::min(first, last)], &b = anchors_[std::max(first, last)];
        const double way = double(b.device - a.device);
        const double error = way > 0 ? double(a.error + b.error) / way : max_drift;
        if (error < best.error) best = {double(b.offset - a.offset) / way, error};
    }
    return best;
}

ClockModel::Estimate ClockModel::beyond_locked(size_t anchor, int direction, int64_t device) const {
    const Anchor& a = anchors_[anchor];
    const Rate rate = rate_locked(anchor, direction);
    const double distance = double(device - a.device);
    const int64_t offset = a.offset + rounded(rate.drift * distance);
    const double open = std::min(max_drift + std::fabs(rate.drift), rate.error + wander_) * std::fabs(distance);
    return {device - offset, a.error + rounded(open) + 1, offset};
}

ClockModel::Estimate ClockModel::between_locked(size_t before, int64_t device) const {
    const Anchor &a = anchors_[before], &b = anchors_[before + 1];
    const double way = double(b.device - a.device);
    const double part = way > 0 ? double(device - a.device) / way : 0;
    const int64_t offset = a.offset + rounded(part * double(b.offset - a.offset));
    double error = double(a.error) * (1 - part) + double(b.error) * part;
    error += wander_ * double(std::min(device - a.device, b.device - device));
    if (stepped_locked(before)) error += double(std::llabs(b.offset - a.offset));
    return {device - offset, rounded(error) + 1, offset};
}

ClockModel::Estimate ClockModel::at_locked(int64_t device) const {
    if (anchors_.empty()) return {device, -1, 0};
    if (device >= anchors_.back().device) return beyond_locked(anchors_.size() - 1, 1, device);
    if (device <= anchors_.front().device) return beyond_locked(0, -1, device);
    const auto next = std::upper_bound(anchors_.begin(), anchors_.end(), device,
                                       [](int64_t d, const Anchor& a) { return d < a.device; });
    return between_locked(size_t(next - anchors_.begin()) - 1, device);
}

ClockModel::Estimate ClockModel::at(int64_t device) const {
    std::lock_guard lock(m_);
    return at_locked(device);
}

bool ClockModel::due(int64_t now) const {
    std::lock_guard lock(m_);
    if (!first_taken_) return true;
    const int64_t pause = std::clamp<int64_t>((last_taken_ - first_taken_) / 4, 1'000'000, 1'000'000'000);
    return now - last_taken_ >= pause;
}

void ClockModel::taking(int64_t now) {
    std::lock_guard lock(m_);
    if (!first_taken_) first_taken_ = now;
    last_taken_ = now;
}

ClockModel::State ClockModel::state() const {
    std::lock_guard lock(m_);
    State out{anchors_, samples_, 0, wander_};
    if (!anchors_.empty()) out.drift = rate_locked(anchors_.size() - 1, 1).drift;
    return out;
}

}  // namespace eventide
