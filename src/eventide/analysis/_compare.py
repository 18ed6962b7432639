"""Two traces: what explains that one took longer. The parts sum to the difference; warnings list what is not alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._breakdown import breakdown
from eventide.analysis._idle import idle
from eventide.analysis._summary import NameRow, summary
from eventide.analysis._view import Step, View, steps_of, view_of
from eventide.analysis.metrics._operator_kernels import OperatorDelta, operator_deltas
from eventide.trace import Trace


@dataclass(frozen=True)
class Delta:
    """One name in both traces; what one of them lacks is 0."""

    name: str
    category: str
    a: int
    b: int
    count_a: int = 0
    count_b: int = 0

    @property
    def difference(self) -> int:
        return self.b - self.a


@dataclass(frozen=True)
class StepDelta:
    """Two steps, paired in order; None where one trace has fewer."""

    a: Step | None
    b: Step | None


@dataclass(frozen=True, repr=False)
class Comparison(show.Result):
    """`parts` split both walls by what the device did and sum to `difference`; the names sum to their own totals."""

    wall_a: int
    wall_b: int
    device_a: str | None  # whose time `parts` split; None: a trace without device work
    device_b: str | None
    parts: tuple[Delta, ...]
    device: tuple[Delta, ...]  # total time of work, by name
    host: tuple[Delta, ...]  # self time of host code, by name
    steps: tuple[StepDelta, ...]
    warnings: tuple[str, ...]
    operators: tuple[OperatorDelta, ...]  # the kernels that each operator launched; empty where that is not recorded

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "of": show.text,
        "name": show.text,
        "category": show.text,
        "a": show.time,
        "b": show.time,
        "difference": show.time,
    }
    _row: ClassVar[type] = Delta
    _more: ClassVar[tuple[str, ...]] = ("of", "difference")

    def _rows(self) -> list[dict[str, object]]:
        return [
            {"of": of, **vars(row), "difference": row.difference}
            for of, rows in (("parts", self.parts), ("device", self.device), ("host", self.host))
            for row in rows
        ]

    def _heading(self) -> str:
        return f"{f.time(self.wall_a)} became {f.time(self.wall_b)}"

    @property
    def difference(self) -> int:
        return self.wall_b - self.wall_a


def compare(a: Trace | View, b: Trace | View) -> Comparison:
    """What changed from a to b."""
    one, other = view_of(a), view_of(b)
    device_a, parts_a = _parts(one)
    device_b, parts_b = _parts(other)
    names = dict.fromkeys([*parts_a, *parts_b])
    parts = [Delta(name, kind, parts_a.get((name, kind), 0), parts_b.get((name, kind), 0)) for name, kind in names]
    before, after = summary(one), summary(other)
    steps_a, steps_b = steps_of(one), steps_of(other)
    count = max(len(steps_a), len(steps_b))
    pairs = zip([*steps_a, *[None] * (count - len(steps_a))], [*steps_b, *[None] * (count - len(steps_b))], strict=True)
    return Comparison(
        before.wall,
        after.wall,
        device_a,
        device_b,
        _largest_first(parts),
        _names(before.device, after.device, "total"),
        _names(before.host, after.host, "self_time"),
        tuple(StepDelta(*pair) for pair in pairs),
        tuple(_unlike(one, other)),
        operator_deltas(one, other),
    )


def _parts(view: View) -> tuple[str | None, dict[tuple[str, str], int]]:
    """The wall time of the busiest device, split: what ran, and why nothing did."""
    found = breakdown(view)
    if not found.devices:
        return None, {("not known: no device work", "idle"): found.wall}
    device = max(found.devices, key=lambda each: each.whole.busy)
    lane = next(lane for lane in idle(view).lanes if lane.device == device.device)
    whole = device.whole
    parts = {(word, "busy"): int(getattr(whole, word)) for word in ("compute", "communication", "copy")}
    parts |= {(kinds, "busy"): time for kinds, time in whole.overlap.items()}
    parts |= {(cause, "idle"): time for cause, time in lane.causes.items()}
    return device.device, parts


def _names(a: tuple[NameRow, ...], b: tuple[NameRow, ...], field: str) -> tuple[Delta, ...]:
    before = {(row.name, row.category): row for row in a}
    after = {(row.name, row.category): row for row in b}
    found = []
    for key in dict.fromkeys([*before, *after]):
        old, new = before.get(key), after.get(key)
        times = (getattr(old, field) if old else 0, getattr(new, field) if new else 0)
        found.append(Delta(*key, *times, old.count if old else 0, new.count if new else 0))
    return _largest_first(found)


def _largest_first(deltas: list[Delta]) -> tuple[Delta, ...]:
    return tuple(sorted((each for each in deltas if each.a or each.b), key=lambda each: -abs(each.difference)))


def _unlike(a: View, b: View) -> list[str]:
    """Why the two may not be comparable."""
    found = []
    for what, key in (("devices", _device_names), ("ranks", _ranks), ("steps", lambda view: len(steps_of(view)))):
        before, after = key(a), key(b)
        if before != after and before is not None and after is not None:
            found.append(f"other {what}: {_text(before)} against {_text(after)}")
    return found


def _device_names(view: View) -> Any:
    named = view.trace.metadata.get("devices") or view.trace.metadata.get("deviceProperties")
    if isinstance(named, list) and named and all(isinstance(each, dict) and each.get("name") for each in named):
        return sorted({str(each["name"]) for each in named}), len(view.devices)
    return sorted({device.rpartition(":")[0] for device in view.devices}), len(view.devices)


def _ranks(view: View) -> Any:
    for key in ("distributed", "distributedInfo"):
        known = view.trace.metadata.get(key)
        if isinstance(known, dict) and known.get("world_size") is not None:
            return known["world_size"]
    return view.trace.metadata.get("world_size")


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{value[1]} of {', '.join(value[0]) or 'no device'}"
    return str(value)
