"""Spans as objects with the names of torch.profiler's events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

if TYPE_CHECKING:
    from eventide.analysis import SpanNode
    from eventide.trace import Trace


class TimeRange(NamedTuple):
    """Microseconds since the start of the trace."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """The duration."""
        return self.end - self.start


class Event:
    """One span: the names of torch's FunctionEvent; times are microseconds."""

    __slots__ = ("_args", "_node", "cpu_children", "cpu_parent", "time_range")

    def __init__(self, node: SpanNode, args: str | None) -> None:
        self._node = node
        self._args = args
        self.time_range = TimeRange(node.start / 1000, node.end / 1000)
        self.cpu_parent: Event | None = None
        self.cpu_children: list[Event] = []

    id = property(lambda self: self._node.row, doc="The row of `trace.spans`.")
    name = property(lambda self: self._node.name, doc="The name.")
    category = property(lambda self: self._node.category, doc="Ours.")
    thread = property(lambda self: self._node.thread, doc="Of the operating system; None for work of a device.")
    device = property(lambda self: self._node.device, doc="None on the host.")
    stack = property(lambda self: list(self._node.stack), doc="The frames, innermost first.")
    key = property(lambda self: self.name, doc="The name.")
    count = property(lambda self: 1, doc="1, as in torch.")  # noqa: ARG005  (a property)
    device_type = property(lambda self: "CPU" if self.device is None else "device", doc="Where it ran.")
    is_user_annotation = property(lambda self: self.category in {"annotation", "span", "step"}, doc="Not an operator.")

    @property
    def args(self) -> dict[str, Any]:
        """The arguments of the span."""
        found: dict[str, Any] = json.loads(self._args or "{}")
        return found

    @property
    def input_shapes(self) -> list[Any]:
        """Of an operator, if they were requested."""
        shapes: list[Any] = self.args.get("Input Dims", [])
        return shapes

    @property
    def flops(self) -> int:
        """Of an operator, if they were requested."""
        return int(self.args.get("flops") or 0)

    @property
    def cpu_time_total(self) -> float:
        """With spans inside; 0 for work of a device."""
        return self.time_range.elapsed_us() if self.device is None else 0.0

    @property
    def self_cpu_time_total(self) -> float:
        """Without the spans inside."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def device_time_total(self) -> float:
        """Of work of a device."""
        return self.time_range.elapsed_us() if self.device is not None else 0.0

    def __repr__(self) -> str:
        return f"<Event {self.name!r} at {self.time_range.start:.3f} us for {self.time_range.elapsed_us():.3f} us>"


class Events(Sequence[Event]):
    """Every span of a trace, in the order of their starts, outer before inner."""

    __slots__ = ("_all",)

    def __init__(self, events: Sequence[Event]) -> None:
        self._all = tuple(events)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Event, ...]: ...
    def __getitem__(self, index: int | slice) -> Event | tuple[Event, ...]:
        return self._all[index]

    def __len__(self) -> int:
        return len(self._all)

    def __repr__(self) -> str:
        return f"<{len(self)} events>"


def events_of(trace: Trace) -> Events:
    """All spans, with their parents on the same thread."""
    from eventide.analysis import span_nodes

    args = trace.spans["args"].to_pylist()
    nodes = span_nodes(trace)
    made = {node.row: Event(node, args[node.row]) for node in nodes}
    for node in nodes:
        if node.parent is not None:
            child, above = made[node.row], made[node.parent]
            child.cpu_parent = above
            above.cpu_children.append(child)
    return Events([made[node.row] for node in nodes])
