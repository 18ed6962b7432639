"""What a report starts with: sentences with a number and a place, each worth more than the next; and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eventide._util import format as f
from eventide.analysis import Lane
from eventide.report._gather import Report

_BECAUSE = {
    "host late": "because the host was late",
    "synchronization": "because the host had synchronized and nothing was queued",
    "compile": "because the host was compiling",
    "allocator": "because the host was in the driver's allocator",
    "launch": "inside the launching calls themselves",
    "stream wait": "waiting for events of other streams",
    "queued": "between launch and start of work that waited for nothing recorded",
    "queue empty": "after its last work: nothing more was launched",
    "unknown": "for a reason that this trace does not hold",
}
_TODO: dict[str, str | None] = {
    "host late": "Give the host less to do per launch: larger batches, fused or compiled code (torch.compile, CUDA "
    "graphs), data loading in other processes.",
    "synchronization": "Remove synchronizations between launches (.item(), .cpu(), printing a tensor); see "
    "`eventide trace syncs`.",
    "compile": "Compile before the measured part, and keep shapes from changing; see `eventide trace compile`.",
    "allocator": "Keep memory: warm up before measuring, avoid emptying the cache, use the caching allocator.",
    "launch": "The driver was slow inside the calls: the first launch of a kernel loads its module; warm up first.",
    "stream wait": "Start what is waited for earlier, or give it more of the device; see `eventide trace idle`.",
    "queued": None,
    "queue empty": "Nothing ran at the end: end the recording with the last step.",
    "unknown": None,  # listed under "Not known"
}


@dataclass(frozen=True)
class Finding:
    """`share` of the wall time orders them; `todo` is what to do about it, if anything is known to help."""

    text: str
    share: float
    todo: str | None = None
    place: tuple[int, int] | None = None  # the time that shows it, on the clock of the trace


def cut_short(metadata: Mapping[str, Any]) -> str | None:
    """Why the file is not whole, if it was cut."""
    account = metadata.get("account") or {}
    lost = account.get("lost_bytes") or 0
    if lost:
        return f"{lost:,} bytes at its end could not be read"
    return "it has no closing brackets" if account.get("end") == "open" and _is_kineto(metadata) else None


def _is_kineto(metadata: Mapping[str, Any]) -> bool:
    return metadata.get("source") == "kineto"


def _cut(report: Report) -> list[Finding]:
    """Before all others: what follows is about a part of the program."""
    why = cut_short(report.metadata)
    if why is None:
        return []
    text = f"The file was cut: {why}. Times, counts and idle shares below are those of the part that is left"
    if _is_kineto(report.metadata):
        text += "; device work comes last in a file of torch.profiler, so most of it may be missing"
    return [Finding(text + ".", 9.0, "Record again, or copy the whole file.")]


def findings(report: Report) -> tuple[Finding, ...]:
    """The findings, most time first; idle devices before all but a file that was cut."""
    found = [
        *_cut(report),
        *_idle(report),
        *_communication(report),
        *_copies(report),
        *_syncs(report),
        *_compiles(report),
    ]
    found += [*_steps(report), *_off_cpu(report), *_path(report)]
    if not report.breakdown.devices:
        found.insert(0, _no_device(report))
    return tuple(sorted(found, key=lambda each: -each.share))


_RECORD_DEVICE = (
    "Record the device too: torch.profiler with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA] (or XPU)."
)


def _no_device(report: Report) -> Finding:
    threads = [row for row in report.summary.threads if row.recorded]
    text = "No device work in this trace, so nothing is known about a device being idle"
    if threads:
        first = threads[0]
        share = f.percent(first.recorded, report.summary.wall)
        text += f"; {f.count(len(threads), 'host thread')}, the busiest ({first.thread}) in recorded code {share}"
    return Finding(text + ".", 2.0, None if report.metadata["source"] == "jax" else _RECORD_DEVICE)


def _idle(report: Report) -> list[Finding]:
    found = []
    lanes = sorted(report.idle.lanes, key=lambda lane: -lane.idle)
    for lane in lanes[:3]:
        if lane.idle == 0 or lane.wall == 0:
            continue
        text = f"{lane.device} was idle {f.percent(lane.idle, lane.wall)} of {f.time(lane.wall)} ({f.time(lane.idle)})"
        causes = sorted(lane.causes.items(), key=lambda item: -item[1])
        cause, time = causes[0]
        text += f"; {f.percent(time, lane.idle)} of that {_BECAUSE[cause]}"
        text += _where(report, lane, cause) + "."
        share = lane.idle / lane.wall
        place = _worst_gap(report, lane, cause)
        found.append(Finding(text, share + (1 if share > 0.1 else 0), _TODO[cause], place))
    if len(lanes) > 3:
        text = f"{len(lanes) - 3} more devices, idle {f.percent(lanes[-1].idle, lanes[-1].wall)} to "
        found.append(Finding(text + f"{f.percent(lanes[3].idle, lanes[3].wall)} of the time.", 1.0))
    return found


def _worst_gap(report: Report, lane: Lane, cause: str) -> tuple[int, int] | None:
    gaps = [gap for gap in report.idle.worst(200, cause) if gap.device == lane.device]
    return (gaps[0].start, gaps[0].start + gaps[0].duration) if gaps else None


def _where(report: Report, lane: Lane, cause: str) -> str:
    gaps = [gap for gap in report.idle.worst(200, cause) if gap.device == lane.device]
    if not gaps or cause == "queue empty":
        return ""
    worst = gaps[0]
    mask = report.idle.table.column("device").to_numpy(zero_copy_only=False) == lane.device
    number = int((report.idle.table.column(cause).to_numpy()[mask] > 0).sum())
    text = f": {f.count(number, 'gap')}, worst {f.time(worst.causes[cause])}"
    if worst.next_work:
        text += f" before {f.name(worst.next_work, 40)}"
    if worst.line:
        text += f", at {worst.line}"
    if cause == "stream wait" and worst.waited_for:
        text += f", for {f.name(worst.waited_for, 50)}"
    elif worst.host_op and cause in {"host late", "synchronization", "allocator", "compile"}:
        text += f", host in {f.name(worst.host_op, 40)}"
    elif worst.launched_by and worst.launched_by != worst.next_work:
        text += f", launched by {f.name(worst.launched_by, 30)}"
    return text


def _communication(report: Report) -> list[Finding]:
    found = []
    for device in report.breakdown.devices:
        whole = device.whole
        total = whole.any_of("communication")
        if not whole.communication or whole.communication * 50 < whole.wall:
            continue
        text = (
            f"{device.device}: {f.time(whole.communication)} of {f.time(total)} communication is exposed "
            f"({f.percent(whole.communication, whole.wall)} of the time); "
            f"{f.percent(total - whole.communication, total)} is hidden behind other work."
        )
        todo = "Start collectives earlier (gradient buckets, prefetch) so that they run beside computation."
        found.append(Finding(text, whole.communication / whole.wall, todo))
    return found[:2]


def _copies(report: Report) -> list[Finding]:
    found = []
    for device in report.breakdown.devices:
        whole = device.whole
        if not whole.copy or whole.copy * 20 < whole.wall:
            continue
        rows = [row for row in report.summary.device if row.category == "copy"]
        text = f"{device.device}: {f.time(whole.copy)} with nothing but copies ({f.percent(whole.copy, whole.wall)})"
        if rows:
            text += f", most in {f.name(rows[0].name, 50)} ({rows[0].count:,} times)"
        todo = "Overlap copies with computation: pinned memory, non_blocking=True, a stream of their own."
        found.append(Finding(text + ".", whole.copy / whole.wall, todo))
    return found[:2]


def _syncs(report: Report) -> list[Finding]:
    syncs = report.syncs
    if syncs.total == 0 or syncs.total * 50 < syncs.wall:
        return []
    first = syncs.table[0]
    where = f.name(first.name, 40) + (f" in {f.name(first.inside, 40)}" if first.inside else "")
    times = "once" if syncs.count == 1 else f.count(syncs.count, "time")
    text = f"The host blocked {times} for {f.time(syncs.total)}, "
    if first.count == syncs.count:
        text += f"in {where}."
    else:
        text += f"most in {where}: {f.count(first.count, 'call')}, {f.time(first.total)}."
    longest = max(syncs.each, key=lambda sync: sync.duration)
    place = (longest.start, longest.start + longest.duration)
    return [Finding(text, syncs.total / syncs.wall * 0.5, "See which with `eventide trace syncs`.", place)]


def _compiles(report: Report) -> list[Finding]:
    compile_ = report.compiles
    if compile_.time == 0 or compile_.time * 100 < compile_.wall:
        return []
    first = compile_.table[0]
    text = (
        f"{f.count(compile_.count, 'compile')} took {f.time(compile_.time)} "
        f"({f.percent(compile_.time, compile_.wall)}), most in {f.name(first.name, 50)} "
        f"({f.count(first.count, 'time')})."
    )
    return [Finding(text, compile_.time / compile_.wall, "See what and why with `eventide trace compile`.")]


def _steps(report: Report) -> list[Finding]:
    lengths = sorted(step.duration for step in report.steps)
    if len(lengths) < 3:
        return []
    median = lengths[len(lengths) // 2]
    slowest = max(report.steps, key=lambda step: step.duration)
    if slowest.duration < 1.2 * median:
        return []
    extra = slowest.duration - median
    text = f"{slowest.name} took {f.time(slowest.duration)}, the median of {len(lengths)} steps is {f.time(median)}."
    todo = f"See what was different: `eventide trace critical-path TRACE --step {slowest.name.rpartition('#')[2]}`."
    return [Finding(text, extra / max(report.summary.wall, 1), todo, (slowest.start, slowest.end))]


def _off_cpu(report: Report) -> list[Finding]:
    rows = [row for row in report.summary.device if row.off_cpu is not None]
    off, total = sum(row.off_cpu or 0 for row in rows), sum(row.total for row in rows)
    if total == 0 or off * 10 < total:
        return []
    first = max(rows, key=lambda row: row.off_cpu or 0)
    text = (
        f"Work on the CPU ran without a core, without the GIL or asleep for {f.percent(off, total)} of its time "
        f"({f.time(off)}), most in {f.name(first.name, 40)}."
    )
    return [
        Finding(text, 0.5 * off / max(report.summary.wall, 1), "Use fewer streams than cores, or work without the GIL.")
    ]


_PATH_TODO = {
    "unrecorded host": "Record what the host did: et.span or torch.profiler.record_function around it, or "
    "with_stack=True.",
}


def _path(report: Report) -> list[Finding]:
    path = report.path
    if not path.wall or not report.breakdown.devices:
        return []
    kind, time = next(iter(path.kinds.items()))
    shares = ", ".join(f"{f.percent(part, path.wall)} {word}" for word, part in list(path.kinds.items())[:3])
    whose = _bottleneck(report, kind, time)
    text = (
        f"The {whose} is the bottleneck: the critical path is {shares}" if whose else f"The critical path is {shares}"
    )
    row = next((row for row in path.rows if row.kind == kind and row.name), None)
    if row is not None:
        text += f"; most in {f.name(row.name, 45)} ({f.percent(row.time, path.wall)})"
    return [Finding(text + ".", 0.3 * time / path.wall, _PATH_TODO.get(kind))]


def _bottleneck(report: Report, kind: str, time: int) -> str | None:
    """Who is responsible for most of the path. Nothing is claimed about time of which nothing is recorded.

    A host that launches in time is not the bottleneck, nor is one that waits: the device is then busy, or the gaps lie
    in blocking calls.
    """
    if time * 10 < report.path.wall * 6:
        return None
    if kind in {"compute", "communication", "copy"}:
        return "device"
    lane = min(report.idle.lanes, key=lambda lane: lane.idle)
    waits = lane.busy * 10 > lane.wall * 8 or lane.blocked * 2 > lane.idle
    return "host" if kind == "host" and not waits else None


def unknowns(report: Report) -> list[str]:
    """What this trace cannot say, and what to record next time."""
    found = []
    unknown = sum(lane.causes.get("unknown", 0) for lane in report.idle.lanes)
    idle = sum(lane.idle for lane in report.idle.lanes)
    if unknown * 20 > idle:
        why = (
            "stream waits are not recorded; give torch.profiler experimental_config="
            "torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True)"
            if report.launches_known
            else "no launch is tied to the device's work; record CPU activities together with the device's"
        )
        found.append(f"The cause of {f.time(unknown)} of idle time: {why}.")
    if report.syncs.skew:
        found.append(f"The order of host and device within {f.time(report.syncs.skew)}: the estimated clock skew.")
    if report.summary.unfinished:
        found.append(f"{f.count(report.summary.unfinished, 'span')} had not ended when the recording did.")
    account = report.metadata.get("account") or {}
    dropped = account.get("dropped") or account.get("lost_bytes") or 0
    if isinstance(dropped, dict):
        dropped = sum(value for value in dropped.values() if isinstance(value, int))
    if dropped:
        found.append(
            f"The recording is not complete: {dropped:,} {'bytes' if account.get('lost_bytes') else 'records'} lost."
        )
    by_profiler = (report.metadata.get("profiler") or {}).get("dropped") or {}
    if reasons := [f"{count:,} {reason}" for reason, count in by_profiler.items() if count]:
        found.append(f"Events of backends that the profile dropped: {', '.join(reasons)}.")
    found += [str(warning) for warning in report.metadata.get("warnings") or []]
    return found
