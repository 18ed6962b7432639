"""Findings in words: what happened, on which streams, and the smallest fix. Plain text, for every output."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eventide._util.internal_frames import is_internal_frame
from eventide.sanitizer._finding import Access, Finding, Frame, Piece

StreamNames = Mapping[Any, str]

MOST_PIECES = 8
"""Pieces of memory of a finding that are shown."""

_EXPLAINED = {
    "race": "{second} that {first_who} {first_verb}; nothing orders the two",
    "missing-record-stream": "memory is freed while {first}: the allocator has no record that this stream uses it",
    "wait-on-unrecorded": "a wait for an event that was never recorded does nothing",
    "redundant-wait": "this wait changes no order: what it waits for is complete anyway",
    "redundant-sync": "this synchronize waits for work that is known to be complete",
    "leak": "allocated and never freed",
}


def is_ours(frame: Frame) -> bool:
    """True for this package's own frames, an importer's, and those of frameworks that an integration traces."""
    return is_internal_frame(frame[0])


def place(access: Access) -> Frame | None:
    """The innermost frame that is the program's: not this package's own, and not an importer's."""
    for frame in access.stack:
        if not is_ours(frame):
            return frame
    return access.stack[0] if access.stack else None


def where(access: Access) -> str:
    """``prefetch.py:63``, or nothing."""
    frame = place(access)
    return f"{Path(frame[0]).name}:{frame[1]}" if frame else ""


def stream_text(stream: int | str | None, names: StreamNames) -> str:
    """``stream 3 'load'``, or the host."""
    if stream is None:
        return "the host"
    name = names.get(stream)
    return f"stream {stream} '{name}'" if name else f"stream {stream}"


def who(access: Access, names: StreamNames) -> str:
    """``'load' on stream 3 'load'``, or ``the host thread 17``."""
    if access.what == "work":
        name = f"'{access.name}'" if access.name else f"work {access.work}"
        return f"{name} on {stream_text(access.stream, names)}"
    if access.what == "host":
        return f"the host (thread {access.thread})"
    thing = f"the {access.what} '{access.name}'" if access.name else f"the {access.what}"
    return f"{thing} on {stream_text(access.stream, names)}" if access.stream is not None else thing


def act(access: Access, names: StreamNames) -> str:
    """Who does what: ``'train' on stream 3 reads 64 bytes``."""
    if access.what in {"work", "host"}:
        verb = "writes" if access.write else "reads"
        return f"{who(access, names)} {verb}{f' {access.nbytes:,} bytes' if access.nbytes else ''}"
    return who(access, names)


def headline(finding: Finding, names: StreamNames) -> str:
    """One sentence that says what is wrong."""
    if finding.kind == "deadlock":
        return finding.text or "these wait for each other forever"
    first = finding.first or finding.second
    text = _lifetime(first, finding.second) if finding.kind == "use-after-free" else _EXPLAINED[finding.kind]
    text = text.format(
        first=act(first, names),
        first_who=who(first, names),
        first_verb="writes" if first.write else "reads",
        second=act(finding.second, names),
    )
    if finding.kind == "wait-on-unrecorded" and finding.event:
        text = text.replace("an event", f"event {finding.event}")
    if finding.kind == "leak":
        what = "event" if finding.second.what == "event" else f"{finding.second.nbytes:,} bytes"
        text = f"{what} {text}"
    return text


def _lifetime(first: Access, second: Access) -> str:
    """Used after the free, freed twice, freed too early, or taken by a new owner too early."""
    if first.what == "free":
        return "memory is freed twice" if second.what == "free" else "{second} after its memory was freed"
    if second.what == "free":
        return "memory is freed while {first}; nothing orders the two"
    return "{second} of memory that its previous owner still uses: {first}"


def memory(finding: Finding) -> list[str]:
    """Which bytes of which buffers both sides touch, as offsets into them; a line for each piece."""
    side = finding.second if finding.second.nbytes or finding.first is None else finding.first
    if not side.nbytes:
        return []
    pieces = finding.pieces or (Piece(side.address, side.nbytes, finding.buffer, finding.buffer_name),)
    kinds = {(piece.first_writes, piece.second_writes) for piece in pieces}
    lines = [_piece_text(piece) + (_uses(piece) if len(kinds) > 1 else "") for piece in pieces[:MOST_PIECES]]
    rest = side.nbytes - sum(piece.nbytes for piece in pieces[:MOST_PIECES])
    return [*lines, f"and {rest:,} bytes more"] if rest > 0 else lines


def _piece_text(piece: Piece) -> str:
    base = piece.buffer or piece.address
    start = piece.address - base
    name = f"'{piece.buffer_name}'" if piece.buffer_name else f"the memory at {base:#x}"
    return f"bytes {start:,} to {start + piece.nbytes:,} of {name}"


def _uses(piece: Piece) -> str:
    first, second = ("written" if writes else "read" for writes in (piece.first_writes, piece.second_writes))
    return f": {first} by the first, {second} by the second"


def doubt_text(finding: Finding, names: StreamNames) -> str:
    """Why a finding is possible and not certain, and how that can be decided."""
    if finding.certain or finding.first is None:
        return ""
    first = _name(finding.first, names)
    return {
        "inside": "a signal from inside of work orders the two only if that work leaves these bytes alone after it: "
        "split the work at the signal, or wait for its end (an event, its Future)",
        "unseen": f"a host thread, or a work without accesses, is after {first}; "
        "its hand-over, if not traced, orders the two",
        "bytes": "the declared bytes are an upper bound; declare exactly what is accessed",
        "order": "only the order of host threads in this run forbids it",
    }.get(finding.doubt, "")


def fix_text(finding: Finding, names: StreamNames) -> str:
    """The smallest fix, as an instruction."""
    return _FIXES.get(finding.fix.action, _nothing)(finding, names)


def _at(access: Access | None, word: str) -> str:
    line = where(access) if access else ""
    return f" ({word} {line})" if line else ""


def _name(access: Access | None, names: StreamNames) -> str:
    if access is None:
        return "the first"
    return f"'{access.name}'" if access.what == "work" and access.name else who(access, names)


def _wait(f: Finding, names: StreamNames) -> str:
    waiter = stream_text(f.second.stream, names)
    before = f"before {_name(f.second, names)}{_at(f.second, 'above')}"
    if f.fix.recorded:
        return f"make {waiter} wait for event {f.fix.event}, recorded after {_name(f.first, names)} already, {before}"
    on = stream_text(f.first.stream if f.first else None, names)
    return f"record an event after {_name(f.first, names)} on {on}{_at(f.first, 'below')}; make {waiter} wait {before}"


def _synchronize(f: Finding, names: StreamNames) -> str:
    before = f"before {_name(f.second, names)}{_at(f.second, 'above')}"
    if f.fix.recorded:
        return f"synchronize event {f.fix.event}, recorded after {_name(f.first, names)} already, {before}"
    on = stream_text(f.first.stream if f.first else None, names)
    return f"record an event after {_name(f.first, names)} on {on}{_at(f.first, 'below')}; synchronize it {before}"


def _hand_over(f: Finding, _: StreamNames) -> str:
    threads = f"thread {f.first.thread if f.first else '?'} to thread {f.second.thread}"
    return f"hand over from {threads} with a queue, a lock, an Event or a join{_at(f.second, 'above')}"


def _record_stream(f: Finding, names: StreamNames) -> str:
    return f"call record_stream({stream_text(f.fix.stream, names)}) on the buffer before it is freed"


def _free_later(f: Finding, names: StreamNames) -> str:
    user = f.first if f.first is not None and f.first.what == "work" else f.second
    return f"free the memory after {_name(user, names)} is complete{_at(user, 'submitted at')}"


def _remove(f: Finding, _: StreamNames) -> str:
    return f"this run does not need it{_at(f.second, 'line')}; remove it only if no other run does"


def _record_before(f: Finding, _: StreamNames) -> str:
    return f"record event {f.event} before this wait{_at(f.second, 'above')}, or skip the wait until it is recorded"


def _give_back(f: Finding, _: StreamNames) -> str:
    return "delete the event" if f.second.what == "event" else "free() the memory when it is no longer used"


def _nothing(_f: Finding, _names: StreamNames) -> str:
    return ""


_FIXES = {
    "wait": _wait,
    "synchronize": _synchronize,
    "hand-over": _hand_over,
    "record-stream": _record_stream,
    "free-later": _free_later,
    "remove": _remove,
    "record-before": _record_before,
    "give-back": _give_back,
}
