"""What the raw file says against a finding: one check for each rule, from facts in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median_high

from eventide.report import Finding, Report
from tests.reference.headlines import Device, Facts, overlap, union

Check = Callable[[Finding, Facts, Report], Iterator[str]]


def near(one: float, other: float, of: float) -> bool:
    """Equal within 1 % of a third number."""
    return abs(one - other) <= 0.01 * of + 1


def _device(finding: Finding, facts: Facts) -> Device:
    return facts.devices[int(finding.values["device"].rpartition(":")[2])]


def idle(finding: Finding, facts: Facts, report: Report) -> Iterator[str]:
    """The idle time, the worst gap, and the name that fills it."""
    values, device = finding.values, _device(finding, facts)
    if not near(values["idle"], facts.window - device.busy, facts.window) or not near(
        values["wall"], facts.window, facts.window
    ):
        yield f"the device is busy for {device.busy} of {facts.window} ns"
    if finding.place is None:
        return
    low, high = (time - report.idle.start + facts.begin for time in finding.place)
    if not any(abs(one - low) < 1000 and abs(other - high) < 1000 for one, other in device.gaps):
        yield f"there is no gap from {low} to {high}"
    named = values.get("host")
    fills = facts.filler(low, low + values["worst"]) if named else ""
    if named and fills and facts.filled(named, low, low + values["worst"]) <= 0.5:
        yield f"the gap is filled by {fills}, not by {named}"


def host_late(finding: Finding, facts: Facts, report: Report) -> Iterator[str]:
    yield from idle(finding, facts, report)
    if facts.blocked * 2 > facts.idle and len(facts.devices) == 1:
        yield f"blocking calls fill {facts.blocked} of {facts.idle} ns of the gaps"


def launching(finding: Finding, facts: Facts, report: Report) -> Iterator[str]:
    yield from idle(finding, facts, report)
    inside = overlap(_device(finding, facts).gaps, facts.launching)
    if finding.values["part"] > 1.01 * inside:
        yield f"launching calls fill {inside} ns of the gaps"


def after_launch(finding: Finding, facts: Facts, report: Report) -> Iterator[str]:
    yield from idle(finding, facts, report)
    device = _device(finding, facts)
    if finding.values["part"] > 1.01 * device.after_launch:
        yield f"the next work was launched for {device.after_launch} ns of the gaps"


def blocking_copies(finding: Finding, facts: Facts, report: Report) -> Iterator[str]:
    yield from idle(finding, facts, report)
    if (share := _to_device(facts)) <= 0.5:
        yield f"copies to the device take {share:.0%} of the time in calls that block"


def blocking_launches(finding: Finding, facts: Facts, report: Report) -> Iterator[str]:
    yield from idle(finding, facts, report)
    if (share := _in_launches(facts)) <= 0.5:
        yield f"calls that launch what they wait for take {share:.0%} of the time in calls that block"


def queue_empty(finding: Finding, facts: Facts, report: Report) -> Iterator[str]:
    yield from idle(finding, facts, report)
    low, high = _device(finding, facts).gaps[-1]
    if high != facts.begin + facts.window or not near(finding.values["part"], high - low, facts.window):
        yield f"the last gap is from {low} to {high}"


def blocked(finding: Finding, facts: Facts, _: Report) -> Iterator[str]:
    total = sum(call.end - call.start for call, _ in facts.blocking)
    if not near(finding.values["total"], total, total):
        yield f"{len(facts.blocking)} calls block for {total} ns"
    inside = overlap(facts.gaps, union([(call.start, call.end) for call, _ in facts.blocking]))
    if not near(finding.values["idle"], inside, facts.window):
        yield f"the device is idle for {inside} ns of that"


def blocked_by_copies(finding: Finding, facts: Facts, report: Report) -> Iterator[str]:
    yield from blocked(finding, facts, report)
    share = _to_device(facts)
    if share <= 0.5:
        yield f"copies to the device take {share:.0%} of the time in calls that block"


def blocked_by_launches(finding: Finding, facts: Facts, report: Report) -> Iterator[str]:
    yield from blocked(finding, facts, report)
    if (share := _in_launches(facts)) <= 0.5:
        yield f"calls that launch what they wait for take {share:.0%} of the time in calls that block"


def _in_launches(facts: Facts) -> float:
    own = [
        s.end - s.start for s, work in facts.blocking if work and s.args.get("correlation") == work.args["correlation"]
    ]
    return sum(own) / max(sum(call.end - call.start for call, _ in facts.blocking), 1)


def _to_device(facts: Facts) -> float:
    """The share of the blocked time in which calls waited for copies of memory that is not pinned."""
    time = {True: 0, False: 0}
    for call, awaited in facts.blocking:
        name = awaited.name if awaited else ""
        time[("HtoD" in name or "Host -> Device" in name) and "Pinned" not in name] += call.end - call.start
    return time[True] / max(sum(time.values()), 1)


def communication(finding: Finding, facts: Facts, _: Report) -> Iterator[str]:
    device = _device(finding, facts)
    if not near(finding.values["exposed"], device.exposed["communication"], facts.window):
        yield f"{device.exposed['communication']} ns of communication are alone"
    if not near(finding.values["total"], device.communication, facts.window):
        yield f"there are {device.communication} ns of communication"


def copies(finding: Finding, facts: Facts, _: Report) -> Iterator[str]:
    alone = _device(finding, facts).exposed["copy"]
    if not near(finding.values["exposed"], alone, facts.window):
        yield f"{alone} ns of copies are alone"


def slow_step(finding: Finding, facts: Facts, _: Report) -> Iterator[str]:
    if not near(finding.values["time"], max(facts.steps), facts.window):
        yield f"the longest step takes {max(facts.steps)} ns"
    if not near(finding.values["median"], median_high(facts.steps), facts.window):
        yield f"the median step takes {median_high(facts.steps)} ns"


def host_bottleneck(_: Finding, facts: Facts, __: Report) -> Iterator[str]:
    if facts.busy * 10 > facts.window * 8:
        yield f"the device is busy for {facts.busy} of {facts.window} ns"
    if facts.blocked * 2 > facts.idle:
        yield f"blocking calls fill {facts.blocked} of {facts.idle} ns of the gaps"


def device_bottleneck(_: Finding, facts: Facts, __: Report) -> Iterator[str]:
    if facts.busy * 10 < facts.window * 6:
        yield f"the device is busy for {facts.busy} of {facts.window} ns"


def device_busy(finding: Finding, facts: Facts, _: Report) -> Iterator[str]:
    if facts.busy * 10 <= facts.window * 8 or not near(finding.values["busy"], facts.busy, facts.window):
        yield f"the device is busy for {facts.busy} of {facts.window} ns"
    if not near(finding.values["idle"], facts.idle, facts.window):
        yield f"the device is idle for {facts.idle} ns"


def no_claim(finding: Finding, facts: Facts, _: Report) -> Iterator[str]:
    if "bottleneck" in finding.text or finding.values["kind_time"] > facts.window:
        yield "it claims a bottleneck"


def unknown_waits(_: Finding, facts: Facts, __: Report) -> Iterator[str]:
    if facts.ties_waits:
        yield "rows of the file say what streams waited for"


def unknown_start(finding: Finding, facts: Facts, _: Report) -> Iterator[str]:
    before = sum(device.before_first for device in facts.devices.values())
    calls = union([(call.start, call.end) for call, _ in facts.blocking])
    first = [device.gaps[:1] for device in facts.devices.values()]
    before += sum(overlap(gaps, calls) for gaps in first if gaps and gaps[0][0] == facts.begin)
    if not near(finding.values["unknown"], before, facts.window):
        yield f"the first work of devices began {before} ns after its launch"


def unknown_end(finding: Finding, facts: Facts, _: Report) -> Iterator[str]:
    end = facts.begin + facts.window
    after = sum(high - low for device in facts.devices.values() for low, high in device.gaps if high == end)
    if finding.values["unknown"] > 1.01 * after:
        yield f"the last work of devices ended {after} ns before the end"


def clock_skew(finding: Finding, facts: Facts, _: Report) -> Iterator[str]:
    copies = [(call, copy) for call, copy in facts.blocking if copy and "memcpy" in call.name.lower()]
    late = [copy.end - call.end for call, copy in copies if copy.end > call.end]
    if late and finding.values["skew"] < max(late):
        yield f"a copy ends {max(late)} ns after its call"


CHECKS: dict[str, Check] = {
    "clock-skew": clock_skew,
    "critical-path": no_claim,
    "device-bottleneck": device_bottleneck,
    "device-busy": device_busy,
    "exposed-communication": communication,
    "exposed-copies": copies,
    "host-blocked": blocked,
    "host-blocked-by-copies": blocked_by_copies,
    "host-blocked-by-launches": blocked_by_launches,
    "host-bottleneck": host_bottleneck,
    "idle-allocator": host_late,
    "idle-blocking-copies": blocking_copies,
    "idle-blocking-launches": blocking_launches,
    "idle-capture": idle,
    "idle-data-loading": host_late,
    "idle-driver-call": host_late,
    "idle-host-late": host_late,
    "idle-host-work": host_late,
    "idle-launch": launching,
    "idle-queue-empty": queue_empty,
    "idle-queued": after_launch,
    "idle-synchronization": idle,
    "idle-unknown": after_launch,
    "path-unrecorded": no_claim,
    "slow-step": slow_step,
    "unknown-end": unknown_end,
    "unknown-start": unknown_start,
    "unknown-waits": unknown_waits,
}
