"""Rules about what a trace cannot say, and what to record next time."""

from __future__ import annotations

from collections.abc import Iterator

from eventide.analysis import cut_short
from eventide.report._gather import Report
from eventide.report.rules._facts import is_torch, kind_of
from eventide.report.rules._rule import RECORDED, UNKNOWN, Match, rule


def _at_start(report: Report) -> int:
    """Idle time before the first recorded work of devices whose cause is unknown."""
    table = report.idle.table
    first = table.column("start").to_numpy() == report.idle.start
    return int(table.column("unknown").to_numpy()[first].sum()) if report.launches_known else 0


def _at_end(report: Report) -> int:
    """Idle time after the last recorded work of devices whose cause is unknown."""
    table = report.idle.table
    last = table.column("next").is_null().to_numpy()
    return int(table.column("unknown").to_numpy()[last].sum())


def _before_unlaunched(report: Report) -> int:
    """Idle time before work that no recorded call launched."""
    table = report.idle.table
    loose = table.column("submit").is_null().to_numpy() & table.column("next").is_valid().to_numpy()
    loose &= table.column("start").to_numpy() != report.idle.start
    return int(table.column("unknown").to_numpy()[loose].sum())


def _unknown_idle(report: Report) -> Iterator[Match]:
    elsewhere = _at_start(report) + _at_end(report)
    unknown = sum(lane.causes.get("unknown", 0) for lane in report.idle.lanes) - elsewhere
    idle = sum(lane.idle for lane in report.idle.lanes)
    if unknown * 20 > idle:
        yield Match(unknown / max(report.idle.wall * len(report.idle.lanes), 1), {"unknown": unknown, "idle": idle})


@rule(
    "unknown-waits",
    condition="Over 5 % of the idle time of devices has no known cause, and launches are recorded.",
    says=("The cause of {unknown:time} of idle time: {why}[; give torch.profiler experimental_config={option}]."),
    confidence=UNKNOWN,
    unknowns=True,
)
def unknown_waits(report: Report) -> Iterator[Match]:
    """The option is CUPTI's."""
    devices = {kind_of(lane.device) for lane in report.idle.lanes}
    option = "torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True)"
    if report.launches_known:
        for match in _unknown_idle(report):
            loose = _before_unlaunched(report) * 2 > match.values["unknown"]
            why = "most of it before work whose launch is not recorded" if loose else "stream waits are not recorded"
            cuda = is_torch(report.metadata) and "cuda" in devices and not loose
            yield Match(match.share, {**match.values, "why": why, "option": option if cuda else None})


@rule(
    "unknown-launches",
    condition="Over 5 % of the idle time of devices has no known cause, and no launch is recorded.",
    says=(
        "The cause of {unknown:time} of idle time: no launch is tied to the device's work; record CPU activities "
        "together with the device's."
    ),
    confidence=UNKNOWN,
    unknowns=True,
)
def unknown_launches(report: Report) -> Iterator[Match]:
    """Without launches nothing is known about the host's part."""
    return _unknown_idle(report) if not report.launches_known else iter(())


@rule(
    "unknown-start",
    condition=(
        "Over 5 % of the idle time lies before a device's first recorded work, after its launch or in calls that "
        "blocked."
    ),
    says=(
        "What devices did in the {unknown:time} before their first recorded work, after its launch or while calls "
        "blocked: earlier work may have run."
    ),
    confidence=UNKNOWN,
    unknowns=True,
)
def unknown_start(report: Report) -> Iterator[Match]:
    """A recording that begins in the middle of a run holds none of the work that was queued before it."""
    unknown, idle = _at_start(report), sum(lane.idle for lane in report.idle.lanes)
    if unknown * 20 > idle:
        yield Match(unknown / max(report.idle.wall * len(report.idle.lanes), 1), {"unknown": unknown, "idle": idle})


@rule(
    "unknown-end",
    condition=(
        "Over 5 % of the idle time lies after a device's last recorded work, and the file was cut, or a call that "
        "launches work has none."
    ),
    says="What devices did in the {unknown:time} after their last recorded work: {why}.",
    confidence=UNKNOWN,
    unknowns=True,
)
def unknown_end(report: Report) -> Iterator[Match]:
    """A profiler that is stopped before the device is done holds no work that was still queued."""
    unknown, idle = _at_end(report), sum(lane.idle for lane in report.idle.lanes)
    if unknown * 20 > idle:
        cut = cut_short(report.metadata) is not None
        why = "the end of the file is missing" if cut else "later calls launched work that is not recorded"
        share = unknown / max(report.idle.wall * len(report.idle.lanes), 1)
        yield Match(share, {"unknown": unknown, "idle": idle, "why": why})


@rule(
    "outside-window",
    condition=(
        "Over half of the recording, and 100 ms or more, is a time in which nothing is recorded, and on one side of it "
        "is nothing of a device, of its runtime or of a compiler. The window is then the other side. Or JAX's profiler "
        "was in its own start or stop."
    ),
    says=(
        "What happened for {time:time} {side} the traced part: only {name:name} is recorded there"
        "[ and {more:count more span}]."
    ),
    confidence=UNKNOWN,
    unknowns=True,
)
def outside_window(report: Report) -> Iterator[Match]:
    """Such as a profiler that was started long before the program's first work."""
    start, end = report.idle.start, report.idle.start + report.idle.wall
    sides = {
        "before": [one for one in report.outside if one[1] < start],
        "after": [one for one in report.outside if one[1] >= start],
    }
    for side, there in sides.items():
        if there:
            low, high = min(one[1] for one in there), max(one[2] for one in there)
            longest = max(there, key=lambda one: one[2] - one[1])
            values = {"side": side, "name": longest[0], "more": len(there) - 1 or None}
            yield Match(0.0, {**values, "time": start - low if side == "before" else high - end})


@rule(
    "clock-skew",
    condition="Work that a call waited for ends after the call returned.",
    says="The order of host and device within {skew:time}: the estimated clock skew.",
    confidence=UNKNOWN,
    unknowns=True,
)
def clock_skew(report: Report) -> Iterator[Match]:
    """Estimated from the calls of the trace that blocked."""
    if report.syncs.skew:
        yield Match(0.0, {"skew": report.syncs.skew})


@rule(
    "unfinished-spans",
    condition="Spans had no end when the recording ended.",
    says="{spans:count span} had not ended when the recording did.",
    confidence=RECORDED,
    unknowns=True,
)
def unfinished_spans(report: Report) -> Iterator[Match]:
    """They last until the end of the trace."""
    if report.summary.unfinished:
        yield Match(0.0, {"spans": report.summary.unfinished})


@rule(
    "not-sampled",
    condition="A run was recorded, and it has neither a span nor a sample.",
    says=(
        "Where the {wall:time} went: Python stacks are sampled every {period:time}[; `eventide run --sample {finer}`]."
    ),
    confidence=RECORDED,
    unknowns=True,
)
def not_sampled(report: Report) -> Iterator[Match]:
    """Such as a program that ends at once."""
    period = int((report.metadata.get("run") or {}).get("sample_ns") or 0)
    if period and not report.spans and not report.samples.count:
        finer = max(period // 10_000_000, 1) if period > 1_000_000 else None
        yield Match(0.0, {"wall": report.summary.wall, "period": period, "finer": finer})


@rule(
    "incomplete-recording",
    condition="The recorder dropped records, or bytes of the file could not be read.",
    says="The recording is not complete: {lost:number} {what} lost.",
    confidence=RECORDED,
    unknowns=True,
)
def incomplete(report: Report) -> Iterator[Match]:
    """Counts and sums are then too small."""
    account = report.metadata.get("account") or {}
    dropped = account.get("dropped") or account.get("lost_bytes") or 0
    if isinstance(dropped, dict):
        dropped = sum(value for value in dropped.values() if isinstance(value, int))
    if dropped:
        yield Match(0.0, {"lost": dropped, "what": "bytes" if account.get("lost_bytes") else "records"})


@rule(
    "dropped-by-profile",
    condition="The profiler left out events of backends, with a reason.",
    says="Events of backends that the profile dropped: {reasons}.",
    confidence=RECORDED,
    unknowns=True,
)
def dropped_by_profile(report: Report) -> Iterator[Match]:
    """Such as events without an end."""
    dropped = (report.metadata.get("profiler") or {}).get("dropped") or {}
    if reasons := [f"{count:,} {reason}" for reason, count in dropped.items() if count]:
        yield Match(0.0, {"reasons": ", ".join(reasons)})


@rule(
    "warnings-of-the-recording",
    condition="The reader of the file, or the recorder, left a warning.",
    says="{warning}",
    confidence=RECORDED,
    unknowns=True,
)
def warnings(report: Report) -> Iterator[Match]:
    """One each."""
    return (Match(0.0, {"warning": str(text)}) for text in report.metadata.get("warnings") or [])


@rule(
    "no-device-work",
    condition="torch.profiler wrote the trace, and no span of it occupies a stream of a device.",
    says=(
        "Devices: no device work is recorded. If the program used one, record it too: torch.profiler with its activity "
        "(ProfilerActivity.CUDA, XPU, ...)."
    ),
    confidence=UNKNOWN,
    unknowns=True,
)
def no_device_work(report: Report) -> Iterator[Match]:
    """Of other tools the devices that were used are recorded."""
    if not report.breakdown.devices and is_torch(report.metadata):
        yield Match(0.0, {})
