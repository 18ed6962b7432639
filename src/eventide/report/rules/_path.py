"""Rules about the critical path: who is the bottleneck, where the trace shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow.compute as pc

from eventide._util import format as f
from eventide.analysis import cut_short
from eventide.report._gather import Report
from eventide.report.rules._rule import INFERRED, RECORDED, UNKNOWN, Match, rule

_PATH = "critical path is {parts}[; most {place} {name:name 45} ({time:of wall})][; {how_sure}]."
_OF_DEVICE = {"compute", "communication", "copy"}
_WAITS = {"unknown", "queued", "launch", "stream wait"}  # their pieces have the name of the work that came then


def _path(report: Report) -> tuple[str, Match] | None:
    """The rule that applies, and what it says: the largest part of the path decides."""
    path = report.path
    if not path.wall or not report.breakdown.devices:
        return None
    kind, time = next(iter(path.kinds.items()))
    if kind not in _OF_DEVICE and cut_short(report.metadata) is not None:
        return None  # what is missing may be the device's
    row = next((row for row in path.rows if row.kind == kind and row.name), None)
    busiest = min(report.idle.lanes, key=lambda lane: lane.idle)
    values: dict[str, Any] = {
        "device": busiest.device,
        "busy": busiest.busy,
        "idle": busiest.idle,
        "parts": ", ".join(f"{f.percent(part, path.wall)} {word}" for word, part in list(path.kinds.items())[:3]),
        "kind": kind,
        "kind_time": time,
        "place": "before" if kind in _WAITS else "in",
        "name": row.name if row else None,
        "time": row.time if row else None,
        "wall": path.wall,
        "inferred": path.inferred,
        "how_sure": "in part inferred" if path.inferred else None,
        "kernels": "kernels" if kind == "compute" else None,
    }
    share = time / path.wall
    chosen = _rule(report, kind, time)
    sure = INFERRED if path.inferred and chosen != "path-unrecorded" else None
    return chosen, Match(share, values, 0.3 * share, _longest(report, kind, row.name if row else ""), sure)


def _longest(report: Report, kind: str, name: str) -> tuple[int, int] | None:
    """The longest piece of the path of a kind and a name: a name that is "" is that of none."""
    table = report.path.table
    same = pc.and_(
        pc.equal(pc.cast(table.column("kind"), "string"), kind), pc.equal(pc.cast(table.column("name"), "string"), name)
    )
    pieces = table.select(["start", "duration"]).filter(pc.fill_null(same, False))
    if not pieces.num_rows:
        return None
    start, duration = (column.to_numpy() for column in pieces.columns)
    longest = int(duration.argmax())
    return int(start[longest]), int(start[longest] + duration[longest])


def _rule(report: Report, kind: str, time: int) -> str:
    busiest = min(report.idle.lanes, key=lambda lane: lane.idle)
    if kind not in _OF_DEVICE and busiest.busy * 10 > busiest.wall * 8:
        return "device-busy"
    if kind == "unrecorded host":
        return "path-unrecorded"
    if time * 10 < report.path.wall * 6:
        return "critical-path"
    if kind in _OF_DEVICE:
        return "device-bottleneck"
    waits = busiest.blocked * 2 > busiest.idle
    known = report.launches_known and busiest.causes.get("unknown", 0) * 2 <= busiest.idle
    return "host-bottleneck" if kind == "host" and known and not waits else "critical-path"


def _match(report: Report, name: str) -> Iterator[Match]:
    found = _path(report)
    if found is not None and found[0] == name:
        yield found[1]


@rule(
    "device-bottleneck",
    condition="60 % or more of the critical path is computation, or communication, or copies.",
    says="The device is the bottleneck: the " + _PATH,
    remedy="[Make its kernels faster: `eventide trace {kernels}` and `eventide trace flops` show which are slow.]",
    confidence=(RECORDED, INFERRED),
)
def device_bottleneck(report: Report) -> Iterator[Match]:
    """Faster work on the device shortens the run."""
    return _match(report, "device-bottleneck")


@rule(
    "host-bottleneck",
    condition=(
        "60 % or more of the critical path is host code, launches are recorded, the busiest device was busy for at "
        "most 80 % of the time, calls that blocked fill at most half of its gaps, the cause of half of them or more is "
        "known, and the file was not cut."
    ),
    says="The host is the bottleneck: the " + _PATH,
    confidence=(RECORDED, INFERRED),
)
def host_bottleneck(report: Report) -> Iterator[Match]:
    """A host that launches in time is not the bottleneck, nor is one that waits."""
    return _match(report, "host-bottleneck")


@rule(
    "device-busy",
    condition=(
        "The busiest device was busy for over 80 % of the time, the largest part of the critical path is not its work, "
        "and the file was not cut."
    ),
    says="{device} was busy {busy:of wall} of {wall:time}: a faster host saves at most {idle:time}. The " + _PATH,
    remedy="[Make its kernels faster: `eventide trace {kernels}` and `eventide trace flops` show which are slow.]",
    confidence=(RECORDED, INFERRED),
)
def device_busy(report: Report) -> Iterator[Match]:
    """What the host waited for may not be recorded; that the device was busy is, and whether it computed."""
    for match in _match(report, "device-busy"):
        (whole,) = (each.whole for each in report.breakdown.devices if each.device == match.values["device"])
        computes = whole.any_of("compute") * 2 > whole.busy
        yield replace(match, values={**match.values, "kernels": "kernels" if computes else None})


@rule(
    "path-unrecorded",
    condition=(
        "The largest part of the critical path is a host thread in nothing that was recorded, the busiest device was "
        "busy for at most 80 % of the time, and the file was not cut."
    ),
    says="The " + _PATH,
    remedy="Record what the host did[: {how}].",
    confidence=UNKNOWN,
)
def path_unrecorded(report: Report) -> Iterator[Match]:
    """Nothing is claimed about time of which nothing is recorded."""
    how = {
        "kineto": "torch.profiler.record_function around it, or with_stack=True",
        "eventide": "et.span around it",
    }
    for match in _match(report, "path-unrecorded"):
        values = {**match.values, "how": how.get(str(report.metadata.get("source")))}
        yield replace(match, values=values)


@rule(
    "critical-path",
    condition=(
        "The trace has device work, its file was not cut, and none of the other rules about the critical path applies."
    ),
    says="The " + _PATH,
    confidence=(RECORDED, INFERRED),
)
def critical_path(report: Report) -> Iterator[Match]:
    """The parts, without a claim."""
    return _match(report, "critical-path")
