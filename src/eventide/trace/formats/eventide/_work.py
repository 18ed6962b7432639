"""Tables derived from the operations: work and synchronizations are spans, failures are instants, launches,
waits and synchronizations are edges, memory is a counter.

The native core derives them (native/core/tracefile/derived_work.hpp); this module maps numbers to names and tracks.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eventide import _native
from eventide.trace.formats.eventide._columns import Codes, Names, Stacks, optional
from eventide.trace.formats.eventide._tracks import Tracks

OUTCOMES = ("ok", "failed", "skipped", "cancelled")  # by their numbers, from 1
SYNCS = ("stream_synchronization", "event_synchronization", "device_synchronization")
EDGES = ("launch", "wait", "synchronize")
_FAILED = 1 + OUTCOMES.index("failed")
_WORK, _UNSUBMITTED, _STREAM, _EVENT, _DEVICE = range(5)  # SpanKind of the core
_PROCESS = 0  # the row of its track

Columns = dict[str, Any]
Mask = npt.NDArray[np.bool_]


class Work:
    """Columns of the tables derived from operations in the order of time."""

    def __init__(self, hooks: Columns, hook_names: list[str], names: Names, tracks: Tracks, first_span: int) -> None:
        self._names = names
        self._hooks = {**hooks, "device": _same_for_same(hooks["device"], names)}
        first_track = len(tracks)
        found = _native.derive_work(self._hooks, hook_names, first_span, first_track)
        self._spans, self._edges, self._levels = found["spans"], found["edges"], found["levels"]
        self._waited_for = found["waited_for"]  # of the spans that are synchronizations
        self._rows = np.arange(first_track + len(found["streams"]["stream"]), dtype=np.int32)  # of tracks
        met = zip(*(found["streams"][part].tolist() for part in ("device", "stream", "name")), strict=True)
        for at, (number, stream, name) in enumerate(met, first_track):
            device = names[number] if number else None
            self._rows[at] = tracks.of_stream(device, stream, names[name] if name else "")

    def spans(self, stacks: Stacks) -> Columns:
        """Work in the order of its submission; synchronizations where they began."""
        spans = self._spans
        if not len(spans["kind"]):
            return {}
        return {
            "track": self._rows.take(spans["track"]),
            "name": self._span_names(),
            "category": self._categories(),
            "start": spans["start"],
            **{name: optional(spans[name]) for name in ("duration", "submit", "cpu", "work")},
            "outcome": _dictionary(spans["outcome"] - 1, OUTCOMES),
            "stack": stacks.column(spans["stack"]),
            "args": self._arguments(),
        }

    def _span_names(self) -> pa.Array:
        """For work its name, or its number if it was submitted before the recording; for synchronizations the hook."""
        kind = self._spans["kind"]
        used, codes = self._names.codes(self._spans["name"])
        words = [self._names.strings(used)]
        if not (kind == _WORK).all():
            unnamed = np.flatnonzero(kind == _UNSUBMITTED)
            numbers = pa.array(self._spans["work"][unnamed]).cast(pa.string())
            words += [pa.array(SYNCS, pa.string()), _around("work ", numbers)]
            syncs = kind >= _STREAM
            codes[syncs] = len(used) + kind[syncs] - _STREAM
            codes[unnamed] = len(used) + len(SYNCS) + np.arange(len(unnamed), dtype=np.int32)
        # Encoded first: a function may have the name of a hook, and pandas refuses a dictionary with a word twice.
        return pa.concat_arrays(words).dictionary_encode().take(pa.array(codes))

    def _categories(self) -> pa.Array:
        """For work the group of its submission, or "work" without one; for synchronizations "sync"."""
        used, codes = self._names.codes(self._spans["group"])
        words = [(number and self._names[number]) or "work" for number in used.tolist()]
        codes[self._spans["kind"] >= _STREAM] = len(words)
        return pa.array([*words, "sync"], pa.string()).dictionary_encode().take(pa.array(codes))

    def _arguments(self) -> pa.Array:
        """For a synchronization: the stream, event or device."""
        is_sync = self._spans["kind"] >= _STREAM
        kind, about = self._spans["kind"][is_sync], self._waited_for
        if not len(kind):
            return pa.nulls(len(is_sync), pa.string())
        place = np.zeros(len(kind), np.int64)
        parts: list[pa.Array] = []
        for of, key in ((_STREAM, "stream"), (_EVENT, "event")):
            found = np.flatnonzero(kind == of)
            place[found] = sum(len(part) for part in parts) + np.arange(len(found))
            numbers = pa.array(about[found]).cast(pa.string())
            parts.append(_around(f'{{"{key}": ', numbers, "}"))
        found = np.flatnonzero(kind == _DEVICE)
        used, codes = self._names.codes(about[found].astype(np.int32))
        place[found] = sum(len(part) for part in parts) + codes
        devices = [json.dumps({"device": self._names[number]}, ensure_ascii=False) for number in used.tolist()]
        parts.append(pa.array(devices, pa.string()))
        everywhere = np.zeros(len(is_sync), np.int64)
        everywhere[is_sync] = place
        return pa.concat_arrays(parts).take(pa.array(everywhere, mask=~is_sync))

    def edges(self) -> Columns:
        """Launches, waits, synchronizations; each in the order of time."""
        edges = self._edges
        if not len(edges["kind"]):
            return {}
        optionals = ("from_span", "to_span", "event", "version", "correlation")
        return {
            "kind": _dictionary(edges["kind"], EDGES),
            **{name: self._rows.take(edges[name]) for name in ("from_track", "to_track")},
            **{name: edges[name] for name in ("from_time", "to_time")},
            **{name: optional(edges[name]) for name in optionals},
        }

    def failures(self, stacks: Stacks) -> Columns:
        """Work that raised, at the time when it did."""
        rows = np.flatnonzero(self._spans["outcome"] == _FAILED)
        if not len(rows):
            return {}
        spans = {name: column[rows] for name, column in self._spans.items()}
        names = _around("failed: ", self._span_names().take(pa.array(rows)).cast(pa.string()))
        return {
            "track": self._rows[spans["track"]],
            "name": names,
            "category": pa.DictionaryArray.from_arrays(
                pa.array(np.zeros(len(rows), np.int32)), pa.array(["work"], pa.string())
            ),
            "time": spans["start"] + spans["duration"],
            "stack": stacks.column(spans["stack"]),
        }

    def memory_levels(self) -> Columns:
        """The bytes allocated on each device after each change; a counter of the process."""
        rows = self._levels["operation"]
        if not len(rows):
            return {}
        used, codes = self._names.codes(self._hooks["device"][rows])
        words = pa.array([f"memory of {self._names[number]}" for number in used.tolist()], pa.string())
        return {
            "track": np.full(len(rows), _PROCESS, np.int32),
            "name": pa.DictionaryArray.from_arrays(pa.array(codes), words),
            "time": self._hooks["time"][rows],
            "value": self._levels["held"],
        }


def _same_for_same(devices: Codes, names: Names) -> Codes:
    """Numbers of devices, equal for equal names; 0 means none."""
    used, codes = names.codes(devices)
    first: dict[str, int] = {}
    table = [number and first.setdefault(names[number], number) for number in used.tolist()]
    return np.array(table, np.int32).take(codes) if len(codes) else devices


def _around(before: str, texts: pa.Array, after: str = "") -> pa.Array:
    """Each text with a prefix and a suffix."""
    # With a type: to infer one, Arrow tries to import a package each time.
    around = [pa.scalar(word, pa.string()) for word in (before, after, "")]
    return pc.binary_join_element_wise(around[0], texts, *around[1:])


def _dictionary(codes: Codes, words: tuple[str, ...]) -> pa.Array:
    """Codes of these words; others are null."""
    outside = codes.view(np.uint32) >= len(words)
    indices = pa.array(codes, mask=outside if outside.any() else None)
    return pa.DictionaryArray.from_arrays(indices, pa.array(words, pa.string()))
