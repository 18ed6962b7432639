"""The collectives of one rank: what they are, and what names them on every rank.

The key of a collective is, from the best to the least: Kineto's "Comms Id"; its group and the group's sequence number;
its group, its step and its order there. The last one is a guess that the clocks check.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from eventide.analysis import View, steps_of
from eventide.analysis import json_of as args_of

# Of a kernel, of an annotation around its launch, of a host's own collective: nccl:all_reduce, gloo:broadcast.
_ANNOTATION = re.compile(r"^(?:nccl|rccl|gloo|mpi|ucc|hccl|xccl|c10d):_*([a-z_0-9]+)", re.IGNORECASE)
_KINDS = (
    ("reduce_scatter", re.compile(r"reduce_?scatter", re.IGNORECASE)),
    ("all_reduce", re.compile(r"all_?reduce", re.IGNORECASE)),
    ("all_gather", re.compile(r"all_?gather", re.IGNORECASE)),
    ("all_to_all", re.compile(r"all_?to_?all", re.IGNORECASE)),
    ("barrier", re.compile(r"barrier", re.IGNORECASE)),
    ("broadcast", re.compile(r"broadcast", re.IGNORECASE)),
    ("gather", re.compile(r"gather", re.IGNORECASE)),
    ("scatter", re.compile(r"scatter", re.IGNORECASE)),
    ("reduce", re.compile(r"reduce", re.IGNORECASE)),
    ("send_recv", re.compile(r"send_?recv", re.IGNORECASE)),
    ("send", re.compile(r"send", re.IGNORECASE)),
    ("recv", re.compile(r"recv", re.IGNORECASE)),
)
SYNCHRONIZES = frozenset({"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier"})
_BYTES = {
    "float": 4, "double": 8, "half": 2, "bfloat16": 2, "c10::half": 2, "c10::bfloat16": 2, "int": 4, "long": 8,
    "long int": 8, "short": 2, "char": 1, "signed char": 1, "unsigned char": 1, "byte": 1, "bool": 1, "float32": 4,
    "float16": 2, "float64": 8, "int8": 1, "uint8": 1, "int16": 2, "int32": 4, "int64": 8,
    "float8_e4m3fn": 1, "float8_e5m2": 1,
}  # fmt: skip


@dataclass
class Collective:
    """One row, before it is timed."""

    span: int
    kind: str | None
    group: str | None
    group_ranks: list[int] | None
    bytes: int | None
    provides: bool
    receives: bool
    comms_id: str | None = None
    sequence: str | None = None
    peer: str | None = None  # of a send or receive: "2>3"
    step: str | None = None
    key: str = ""
    how: str = ""


@lru_cache(maxsize=4096)
def kind_of(name: str | None) -> str | None:
    """all_reduce for AllReduce, allreduce, _allreduce_coalesced and ncclDevKernel_AllReduce_Sum_f32_RING_LL."""
    return next((kind for kind, pattern in _KINDS if name and pattern.search(name)), None)


def find_collectives(view: View, rank: int | None) -> list[Collective]:
    """By start; those of the devices, or of the host if no device has any."""
    rows = np.flatnonzero(view.in_categories("communication") & view.on_kind("stream"))
    on_device = len(rows) > 0
    rows = rows if on_device else _on_host(view)
    rows = rows[np.lexsort((view.end[rows], view.start[rows]))]
    args = view.trace.spans.column("args")
    around = _annotations(view, rows) if on_device else {}
    found = []
    for row in rows.tolist():
        about = args_of(args[row].as_py())
        outer = around.get(row, -1)
        if outer >= 0 and "Collective name" not in about:
            about = {**args_of(args[outer].as_py()), **about, "Collective name": _called(view.word(outer))}
        found.append(_described(view, row, about, rank))
    _name_groups(view, found)
    _name_steps(view, found)
    _name_keys(found)
    return found


def _called(name: str) -> str | None:
    match = _ANNOTATION.match(name)
    return match[1] if match else None


def _on_host(view: View) -> Any:
    wanted = np.array([_ANNOTATION.match(word) is not None for word in view.names], bool)
    if view.count == 0:
        return np.empty(0, np.int64)
    return np.flatnonzero(wanted[view.name] & view.on_kind("thread") & (view.end > view.start))


def _annotations(view: View, rows: Any) -> dict[int, int]:
    """The annotation around the launch of each: "nccl:all_to_all"."""
    outer = _on_host(view)
    edges = view.edges("launch")
    if len(outer) == 0 or len(edges) == 0:
        return {}
    launch = dict(
        zip(edges.to_span.tolist(), zip(edges.from_track.tolist(), edges.from_time.tolist(), strict=True), strict=True)
    )
    by_track: dict[int, Any] = {}
    for track in np.unique(view.track[outer]).tolist():
        here = outer[view.track[outer] == track]
        by_track[track] = here[np.argsort(view.start[here], kind="stable")]
    found = {}
    for row in rows.tolist():
        track, time = launch.get(row, (-1, 0))
        here = by_track.get(track)
        if here is None:
            continue
        place = int(np.searchsorted(view.start[here], time, side="right")) - 1
        if place >= 0 and time <= view.end[here[place]]:
            found[row] = int(here[place])
    return found


def _described(view: View, row: int, about: dict[str, Any], rank: int | None) -> Collective:
    name = view.word(row)
    kind = kind_of(about.get("Collective name")) or kind_of(_called(name) or name)
    group = about.get("Process Group Name", about.get("Process Group ID"))
    ranks = _ranks(about.get("Process Group Ranks"))
    size = _size(about)
    provides, receives, peer = _roles(kind, about, rank, size)
    comms = about.get("Comms Id")
    sequence = about.get("Seq")
    return Collective(
        row,
        kind,
        None if group is None else str(group),
        ranks,
        size,
        provides,
        receives,
        None if comms in {None, "", 0} else str(comms),
        None if sequence in {None, "", -1} else str(sequence),
        peer,
    )


def _roles(
    kind: str | None, about: dict[str, Any], rank: int | None, size: int | None
) -> tuple[bool, bool, str | None]:
    """Who provides and who receives; neither where the trace leaves it open."""
    if kind in SYNCHRONIZES:
        known = not _splits_with_nothing(about) and (kind == "barrier" or size != 0)
        return known, known, None
    source, target = _whole(about.get("Src Rank")), _whole(about.get("Dst Rank"))
    if kind == "send" and target is not None:
        return True, False, f"{rank}>{target}"
    if kind == "recv" and source is not None:
        return False, True, f"{source}>{rank}"
    root = _whole(about.get("Root Rank", about.get("Root rank")))
    if root is None or rank is None:
        return False, False, None
    if kind in {"broadcast", "scatter"}:
        return rank == root, rank != root, None
    if kind in {"reduce", "gather"}:
        return rank != root, rank == root, None
    return False, False, None


def _splits_with_nothing(about: dict[str, Any]) -> bool:
    """True if an uneven all-to-all has a part of size 0, or its parts are cut short: then it may wait for no rank."""
    for key in ("In split size", "Out split size"):
        text = str(about.get(key) or "")
        if "..." in text or re.search(r"[\[, ]0+[\], ]", text):
            return True
    return False


def _whole(value: Any) -> int | None:
    try:
        return int(value) if value is not None and int(value) >= 0 else None
    except (TypeError, ValueError):
        return None


def _ranks(text: Any) -> list[int] | None:
    """The ranks of "[0, 1, 2]"; None for a list that Kineto has shortened."""
    try:
        found = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return None
    fits = isinstance(found, list) and found and all(isinstance(each, int) and 0 <= each < 2**31 for each in found)
    return found if fits else None


def _size(about: dict[str, Any]) -> int | None:
    """Bytes of a message: the larger of input and output."""
    width = _BYTES.get(str(about.get("dtype", "")).lower())
    counts = [_whole(about.get(key)) for key in ("In msg nelems", "Out msg nelems")]
    known = [count for count in counts if count is not None]
    if width and known:
        return max(known) * width
    total = 0
    dims, types = about.get("Input Dims"), about.get("Input type")
    if not isinstance(dims, list) or not isinstance(types, list):
        return None
    for shape, kind in zip(dims, types, strict=False):
        width = _BYTES.get(str(kind).lower())
        if width and isinstance(shape, list) and all(isinstance(each, int) for each in shape) and shape:
            total += width * int(np.prod(shape, dtype=np.int64))
    return total if any(dims) else None


def _name_groups(view: View, found: list[Collective]) -> None:
    """A collective without a group has that of its stream: the first one used is "stream 1" on every rank."""
    order: dict[int, str] = {}
    for each in found:
        if each.group is None:
            order.setdefault(int(view.track[each.span]), f"stream {len(order) + 1}")
            each.group = order[int(view.track[each.span])] if view.on_kind("stream")[each.span] else "host"


def _name_steps(view: View, found: list[Collective]) -> None:
    """The step in which the host submitted it."""
    steps = steps_of(view)
    starts = np.array([step.start for step in steps], np.int64)
    for each in found:
        submit = int(view.submit[each.span])
        time = submit if submit > np.iinfo(np.int64).min else int(view.start[each.span])
        place = int(np.searchsorted(starts, time, side="right")) - 1
        each.step = steps[place].name if place >= 0 and time < steps[place].end else None


def _name_keys(found: list[Collective]) -> None:
    seen: Counter[str] = Counter()
    for each in found:
        where = each.peer or each.group
        if each.comms_id is not None:
            base, each.how = f"comms {each.comms_id} of {where}", "comms id"
        elif each.sequence is not None:
            base, each.how = f"{where}, sequence {each.sequence}", "sequence number"
        else:
            base, each.how = f"{where}, {each.step or 'outside steps'}", "order"
        seen[base] += 1
        each.key = f"{base}, {seen[base]}"
