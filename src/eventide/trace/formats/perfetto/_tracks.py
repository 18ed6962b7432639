"""Tracks of a trace as Perfetto's track descriptors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from eventide.trace._columns import Codes
from eventide.trace._trace import Trace
from eventide.trace.formats.perfetto._proto import field

DESCRIPTOR = 60  # the field of a packet
_UUID, _NAME, _PROCESS, _THREAD, _PARENT, _COUNTER = 1, 2, 3, 4, 5, 8


def describe_tracks(trace: Trace, lanes: Codes, series: Sequence[tuple[int, str]], first_uuid: int) -> Iterator[bytes]:
    """A packet for each track, each further lane and each series of a counter, parents before children."""
    tracks = trace.tracks.to_pylist()
    parents = [_parent_uuid(tracks, row, first_uuid) for row in range(len(tracks))]
    known: set[tuple[int, ...]] = set()
    for row in sorted(range(len(tracks)), key=lambda row: _depth(tracks, row)):
        if tracks[row]["kind"] != "counter" or row in lanes[len(tracks) :]:
            own = _own(tracks[row], known)
            # Perfetto finds the process of a thread by its number.
            parent = None if own else field(_PARENT, parents[row])
            yield _packet(
                field(_UUID, first_uuid + row) + (own or field(_NAME, track_name(tracks[row])) + (parent or b""))
            )
    for lane in range(len(tracks), len(lanes)):
        row = int(lanes[lane])
        # Named as its track: a viewer draws children of one name as one track with several rows.
        inside = first_uuid + row if tracks[row]["kind"] in {"process", "thread"} else parents[row]
        name = track_name(tracks[row])
        yield _packet(field(_UUID, first_uuid + lane) + field(_NAME, name) + field(_PARENT, inside))
    for number, (row, name) in enumerate(series):
        inside = parents[row] if tracks[row]["kind"] == "counter" else first_uuid + row
        uuid = first_uuid + len(lanes) + number
        yield _packet(field(_UUID, uuid) + field(_NAME, name) + field(_PARENT, inside) + field(_COUNTER, b""))


def track_name(track: dict[str, Any]) -> str:
    """Its name, or one made of its kind and number."""
    if track["name"]:
        return str(track["name"])
    if track["kind"] == "stream":
        stream = "stream" if track["stream"] is None else f"stream {track['stream']}"
        return f"{track['device']} {stream}" if track["device"] else stream
    number = track["tid"] if track["kind"] == "thread" else track["pid"]
    return track["kind"] if number is None else f"{track['kind']} {number}"


def _packet(descriptor: bytes) -> bytes:
    return field(DESCRIPTOR, descriptor)


def _own(track: dict[str, Any], known: set[tuple[int, ...]]) -> bytes | None:
    """The fields of a process or a thread, if Perfetto can represent the ids and no other track has them."""
    pid, tid = track["pid"], track["tid"]
    if track["kind"] == "process" and _fits(pid) and (pid,) not in known:
        known.add((pid,))
        return field(_PROCESS, field(1, pid) + field(6, track_name(track)))
    if track["kind"] == "thread" and _fits(pid) and _fits(tid) and (pid, tid) not in known:
        known.add((pid, tid))
        return field(_THREAD, field(1, pid) + field(2, tid) + field(5, track_name(track)))
    return None


def _fits(number: int | None) -> bool:
    return number is not None and 0 < number < 2**31  # 0 is Perfetto's idle thread


def _parent_uuid(tracks: Sequence[dict[str, Any]], row: int, first_uuid: int) -> int | None:
    parent = tracks[row]["parent"]
    if parent is not None:
        return first_uuid + int(parent)
    pid = tracks[row]["pid"]
    process = (i for i, track in enumerate(tracks) if track["kind"] == "process" and track["pid"] == pid)
    return next((first_uuid + i for i in process if i != row), None) if pid is not None else None


def _depth(tracks: Sequence[dict[str, Any]], row: int) -> int:
    depth, at = 0, tracks[row]["parent"]
    while at is not None and depth <= len(tracks):
        depth, at = depth + 1, tracks[at]["parent"]
    return depth
