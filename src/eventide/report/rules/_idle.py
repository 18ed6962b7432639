"""Rules about idle devices: one for each cause that takes most of the idle time of a device."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from eventide.analysis import Lane
from eventide.report._gather import Report
from eventide.report.rules._facts import is_torch, kind_of, launch_ahead, mostly_copies, mostly_launches, worst_gap
from eventide.report.rules._rule import INFERRED, RECORDED, UNKNOWN, Match, rule

_SHOWN = 3  # devices with a sentence of their own, most idle time first
_GRAPHS = {"cuda": "CUDA graphs", "hip": "HIP graphs"}  # others have none
_OF_HOST = {"host late", "synchronization", "compile", "allocator", "capture"}
_IDLE = "{device} was idle {idle:of wall} of {wall:time} ({idle:time}); {part:of idle} of that "
_WORST = "[: {gaps:count gap}, worst {worst:time}][ before {next:name}][, at {line}]"
_HOST = "[, host in {host:name}][ on {thread} (inferred)][, launched by {launcher:name 30}]."
_LAUNCHED = "[, launched by {launcher:name 30}]."


def _lanes(report: Report, cause: str) -> Iterator[tuple[Lane, Match]]:
    """Of the devices with the most idle time those of which most has this cause."""
    for lane in sorted(report.idle.lanes, key=lambda lane: -lane.idle)[:_SHOWN]:
        if lane.idle and lane.wall and max(lane.causes, key=lambda each: lane.causes[each]) == cause:
            share = lane.idle / lane.wall
            values, place = _values(report, lane, cause)
            sure = INFERRED if values.get("thread") else None
            yield lane, Match(share, values, share + (1 if share > 0.1 else 0), place, sure)


def _values(report: Report, lane: Lane, cause: str) -> tuple[dict[str, Any], tuple[int, int] | None]:
    values: dict[str, Any] = {"device": lane.device, "idle": lane.idle, "wall": lane.wall, "part": lane.causes[cause]}
    gap = worst_gap(report, lane, cause)
    if gap is None:
        return values, None
    table = report.idle.table
    mine = table.column("device").to_numpy(zero_copy_only=False) == lane.device
    named = gap.host_op is not None and cause in _OF_HOST
    launcher = gap.launched_by if not named and gap.launched_by != gap.next_work else None
    values |= {
        "gaps": int(np.count_nonzero(table.column(cause).to_numpy()[mine])),
        "worst": gap.causes[cause],
        "next": gap.next_work,
        "line": gap.line,
        "host": gap.host_op,
        "thread": gap.thread if gap.inferred else None,
        "launcher": launcher,
        "waited_for": gap.waited_for,
    }
    return values, (gap.start, gap.start + gap.duration)


def _plain(report: Report, cause: str) -> Iterator[Match]:
    return (match for _, match in _lanes(report, cause))


_LATE = _IDLE + "because the host was late" + _WORST + _HOST
_LOADER = re.compile(r"DataLoader.*__next__")
_ASKED = 20  # gaps, the longest: what fills them


def _late(report: Report) -> Iterator[tuple[Lane, Match, str]]:
    """With the name that fills most of the time in which the host was late; "" if no name does."""
    for lane, match in _lanes(report, "host late"):
        filled: Counter[str] = Counter()
        for gap in report.idle.worst(_ASKED, "host late", lane.device):
            filled[gap.host_op or ""] += gap.causes["host late"]
        (name, time), *_ = filled.most_common(1)
        yield lane, match, name if time * 2 > lane.causes["host late"] else ""


def _is_call(report: Report, name: str) -> bool:
    return any(row.name == name and row.category == "runtime" for row in report.summary.host)


@rule(
    "idle-data-loading",
    condition="As idle-host-late, and a data loader fills most of that time.",
    says=_LATE,
    remedy="The device waited for data: {how}.",
    confidence=(RECORDED, INFERRED),
)
def data_loading(report: Report) -> Iterator[Match]:
    """A loader that has workers already needs more of them, or faster ones."""
    for _, match, name in _late(report):
        if _LOADER.search(name):
            how = (
                "give its loader more workers, or less to do for each sample"
                if "MultiProcessing" in name
                else "load it in other processes (num_workers)"
            )
            yield replace(match, values={**match.values, "how": how})


@rule(
    "idle-driver-call",
    condition="As idle-host-late, and a call of the driver that launches nothing fills most of that time.",
    says=_LATE,
    remedy="The driver was slow inside that call: the first calls start the device and load modules; warm up first.",
    confidence=(RECORDED, INFERRED),
)
def driver_call(report: Report) -> Iterator[Match]:
    """Such as the one that makes the context of a device."""
    return (match for _, match, name in _late(report) if _is_call(report, name))


_LONG = 1_000_000  # ns: a gap in which the host did more than to launch


def _in_long_gaps(report: Report, lane: Lane) -> bool:
    """Whether most of the time in which the host was late is in long gaps."""
    gaps = report.idle.worst(_ASKED, "host late", lane.device)
    long = sum(gap.causes["host late"] for gap in gaps if gap.causes["host late"] >= _LONG)
    return long * 2 > lane.causes["host late"]


@rule(
    "idle-host-work",
    condition=(
        "As idle-host-late, and most of that time lies in at most 20 gaps of 1 ms or more: what the host does for each "
        "launch does not take that long."
    ),
    says=_LATE,
    remedy="The host did something else for long: do that ahead, in other threads or processes, or on the device.",
    confidence=(RECORDED, INFERRED),
)
def host_work(report: Report) -> Iterator[Match]:
    """Such as decoding, resizing, sampling or logging between two steps."""
    for lane, match, name in _late(report):
        if not _LOADER.search(name) and not _is_call(report, name) and _in_long_gaps(report, lane):
            yield match


@rule(
    "idle-host-late",
    condition=(
        "Most of a device's idle time passed before the host launched the next work, nothing was queued, and neither a "
        "data loader, nor a call of the driver, nor a few long gaps fill most of that time."
    ),
    says=_LATE,
    remedy=(
        "Give the host less to do per launch: larger batches, fused or compiled code[ ({ways})], "
        "data loading in other processes."
    ),
    confidence=(RECORDED, INFERRED),
)
def host_late(report: Report) -> Iterator[Match]:
    """Ways that the device and the framework have."""
    for lane, match, name in _late(report):
        if _LOADER.search(name) or _is_call(report, name) or _in_long_gaps(report, lane):
            continue
        torch = ["torch.compile"] if is_torch(report.metadata) else []
        ways = [*torch, *filter(None, [_GRAPHS.get(kind_of(lane.device))])]
        values = {**match.values, "ways": ", ".join(ways) or None}
        yield replace(match, values=values)


_SYNCHRONIZED = "because the host had synchronized and nothing was queued"


@rule(
    "idle-synchronization",
    condition=(
        "Most of a device's idle time passed while or after the host was in a call that blocked, until it launched "
        "again; most of the blocked time is neither in copies to the device nor in calls that launch work."
    ),
    says=_IDLE + _SYNCHRONIZED + _WORST + _HOST,
    remedy="Remove synchronizations between launches ({reads}); see `eventide trace syncs`.",
    confidence=(RECORDED, INFERRED),
)
def synchronization(report: Report) -> Iterator[Match]:
    """Reading a result is what makes most programs synchronize."""
    if mostly_copies(report.syncs) or mostly_launches(report.syncs):
        return
    reads = ".item(), .cpu(), printing a tensor" if is_torch(report.metadata) else "reading or printing a result"
    for _, match in _lanes(report, "synchronization"):
        values = {**match.values, "reads": reads}
        yield replace(match, values=values)


@rule(
    "idle-blocking-copies",
    condition="As idle-synchronization, and most of the blocked time is in copies to the device.",
    says=_IDLE + _SYNCHRONIZED + _WORST + _HOST,
    remedy=(
        "Pin the host memory of copies, so that the host need not wait for them[ ({how})]; see `eventide trace syncs`."
    ),
    confidence=(RECORDED, INFERRED),
)
def blocking_copies(report: Report) -> Iterator[Match]:
    """Pageable memory is copied by the host, which waits."""
    if not mostly_copies(report.syncs):
        return
    how = "pin_memory=True, non_blocking=True" if is_torch(report.metadata) else None
    for _, match in _lanes(report, "synchronization"):
        values = {**match.values, "how": how}
        yield replace(match, values=values)


@rule(
    "idle-blocking-launches",
    condition=(
        "As idle-synchronization, and most of the blocked time is in calls that launch work and return when it has "
        "ended."
    ),
    says=_IDLE + "because each launching call waited for its work, and nothing was queued" + _WORST + _HOST,
    remedy="Let the host launch ahead of the device[: {ahead}]; see `eventide trace syncs`.",
    confidence=INFERRED,
)
def blocking_launches(report: Report) -> Iterator[Match]:
    """The device waits while the host prepares the next launch."""
    if mostly_launches(report.syncs):
        for _, match in _lanes(report, "synchronization"):
            values = {**match.values, "ahead": launch_ahead(report)}
            yield replace(match, values=values, confidence=INFERRED)


@rule(
    "idle-compile",
    condition="Most of a device's idle time passed while the launching thread was in a compiler.",
    says=_IDLE + "because the host was compiling" + _WORST + _HOST,
    remedy="Compile before the measured part, and keep shapes from changing; see `eventide trace compile`.",
    confidence=(RECORDED, INFERRED),
)
def compiling(report: Report) -> Iterator[Match]:
    """A compiler in a step."""
    return _plain(report, "compile")


@rule(
    "idle-allocator",
    condition="Most of a device's idle time passed while the launching thread was in the driver's allocator.",
    says=_IDLE + "because the host was in the driver's allocator" + _WORST + _HOST,
    remedy="Keep memory: warm up before measuring, avoid emptying the cache, use the caching allocator.",
    confidence=(RECORDED, INFERRED),
)
def allocator(report: Report) -> Iterator[Match]:
    """Driver calls such as cudaMalloc and cudaFree synchronize, too."""
    return _plain(report, "allocator")


@rule(
    "idle-capture",
    condition="Most of a device's idle time passed while the host captured a graph.",
    says=_IDLE + "while the host captured a graph, whose launches do not run" + _WORST + _HOST,
    remedy="Record the replays of the graph, not its capture.",
    confidence=(RECORDED, INFERRED),
)
def capturing(report: Report) -> Iterator[Match]:
    """From the call that begins a capture of a stream until the one that ends it."""
    return _plain(report, "capture")


@rule(
    "idle-launch",
    condition="Most of a device's idle time passed inside the launching calls themselves.",
    says=_IDLE + "inside the launching calls themselves" + _WORST + _LAUNCHED,
    remedy="The driver was slow inside the calls: the first launch of a kernel loads its module; warm up first.",
)
def launching(report: Report) -> Iterator[Match]:
    """The first launch of a kernel."""
    return _plain(report, "launch")


@rule(
    "idle-stream-wait",
    condition="Most of a device's idle time passed while its next work waited for an event of another stream.",
    says=_IDLE + "waiting for events of other streams" + _WORST + "[, for {waited_for:name 50}].",
    remedy="Start what is waited for earlier, or give it more of the device; see `eventide trace idle`.",
)
def stream_wait(report: Report) -> Iterator[Match]:
    """A wait between streams that the trace holds."""
    return _plain(report, "stream wait")


@rule(
    "idle-queued",
    condition="Most of a device's idle time passed between launch and start of work that waited for nothing recorded.",
    says=_IDLE + "between launch and start of work that waited for nothing recorded" + _WORST + _LAUNCHED,
)
def queued(report: Report) -> Iterator[Match]:
    """Launch latency, or a device that was not ready."""
    return _plain(report, "queued")


@rule(
    "idle-queue-empty",
    condition="Most of a device's idle time came after its last work.",
    says=_IDLE + "after its last work: nothing more was launched.",
    remedy="Nothing ran at the end: end the recording with the last step.",
)
def queue_empty(report: Report) -> Iterator[Match]:
    """The recording went on after the work."""
    return _plain(report, "queue empty")


@rule(
    "idle-unknown",
    condition="Of most of a device's idle time the trace does not hold the cause.",
    says=_IDLE + "for a reason that this trace does not hold" + _WORST + _LAUNCHED,
    confidence=UNKNOWN,
)
def unknown(report: Report) -> Iterator[Match]:
    """What to record is listed under "Not known"."""
    return _plain(report, "unknown")


@rule(
    "more-devices",
    condition=f"The trace has more than {_SHOWN} devices; those with the most idle time have their own sentences.",
    says="{devices:count more device}, idle {least:of wall} to {most:of wall} of the time.",
)
def more_devices(report: Report) -> Iterator[Match]:
    """The other devices in one sentence."""
    lanes = sorted(report.idle.lanes, key=lambda lane: -lane.idle)[_SHOWN:]
    if lanes and lanes[0].wall:
        most, least = lanes[0], lanes[-1]
        values = {"devices": len(lanes), "least": least.idle, "most": most.idle, "wall": most.wall}
        yield Match(most.idle / most.wall, values, weight=1.0)
