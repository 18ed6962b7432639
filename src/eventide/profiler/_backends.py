"""What backends reported, put where it belongs in the trace.

Events of a profile that adjusts timestamps are recorded as instants at the time of the report, with the backend's own
times in them; here they become spans, on the host's clock.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from eventide.trace import Trace


NEVER = 1 << 62


@dataclass(frozen=True)
class ClockModel:
    """host = backend + offset, wrong by at most `error` either way; None: not known."""

    offset: int
    error: int | None
    events: int
    consistent: bool = True
    """False: no offset fits all events; the clock drifts, or the times are not of one clock."""


def fit(
    profile_start: int,
    events: Iterable[tuple[int, int, int]],
    pairs: Iterable[tuple[int, int, int]] = (),
) -> ClockModel:
    """Fit events (start, end, reported) and pairs (host before, backend's time, host after)."""
    least, most, count = -NEVER, NEVER, 0
    for start, end, reported in events:
        count += 1
        least = max(least, profile_start - start)
        most = min(most, reported - end)
    paired = False
    for before, theirs, after in pairs:
        paired = True
        least = max(least, before - theirs)
        most = min(most, after - theirs)
    if most == NEVER:
        return ClockModel(0, None, count)
    if least > most:
        return ClockModel(most, None, count, consistent=False)
    # Reports follow at once as a rule, so without pairs the upper end is the better estimate.
    offset = (least + most) // 2 if paired else most
    return ClockModel(offset, max(offset - least, most - offset), count)


Row = dict[str, Any]


def settle(trace: Trace, window: tuple[int, int]) -> tuple[Trace, dict[str, Any]]:
    """The trace with the backends' events as spans, and the model of each backend's clock."""
    mine = pc.equal(pc.cast(trace.instants["category"], pa.string()), "backend")
    rows = trace.instants.filter(pc.fill_null(mine, fill_value=False)).to_pylist()
    raw: dict[int, list[Row]] = {}
    pairs: dict[int, list[tuple[int, int, int]]] = {}
    for row in rows:
        if not window[0] <= row["time"] <= window[1]:
            continue  # reported to another profile of this recording
        args = json.loads(row["args"] or "{}")
        if "raw_start" in args:
            raw.setdefault(row["track"], []).append({**row, "args": args})
        elif row["name"] == "clock" and "before" in args:
            pairs.setdefault(row["track"], []).append(
                (args["before"] * 1000, args["backend"] * 1000, args["after"] * 1000)
            )
    if not raw:
        return trace, {}
    models = {track: _model(events, pairs.get(track, ()), window[0]) for track, events in raw.items()}
    spans = [_span(row, models[track]) for track, events in raw.items() for row in events]
    names = trace.tracks["name"].to_pylist()
    return _with_spans(trace, spans), {names[track]: _metadata(model) for track, model in models.items()}


def _model(events: list[Row], pairs: Iterable[tuple[int, int, int]], profile_start: int) -> ClockModel:
    reported = ((row["args"]["raw_start"], row["args"]["raw_end"], row["time"]) for row in events)
    return fit(profile_start, reported, pairs)


def _span(row: Row, model: ClockModel) -> Row:
    args = row["args"]
    start = args.pop("raw_start")
    duration = args.pop("raw_end") - start
    args["clock_error_ns"] = model.error
    return {
        "track": row["track"],
        "name": row["name"],
        "category": "backend",
        "start": start + model.offset,
        "duration": duration,
        "args": json.dumps(args),
    }


def _with_spans(trace: Trace, spans: list[Row]) -> Trace:
    """Without the instants that became spans."""
    schema = trace.spans.schema
    plain_schema = pa.schema([(field.name, _plain(field.type)) for field in schema])
    plain = trace.spans.cast(plain_schema)
    added = pa.Table.from_pylist(spans, plain_schema)
    became = pc.match_substring(pc.fill_null(trace.instants["args"], ""), '"raw_start"')
    return trace.replace(
        spans={name: pa.concat_tables([plain, added])[name] for name in schema.names},
        instants=trace.instants.filter(pc.invert(became)),
    )


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _metadata(model: ClockModel) -> dict[str, Any]:
    return {
        "offset_ns": model.offset,
        "error_ns": model.error,
        "events": model.events,
        "consistent": model.consistent,
    }


def outside(trace: Trace, window: tuple[int, int]) -> dict[str, tuple[int, int]]:
    """Backends with events that lie wholly outside the profile: how many, and how far the nearest is, in ns."""
    spans = trace.spans.filter(
        pc.fill_null(pc.equal(pc.cast(trace.spans["category"], pa.string()), "backend"), fill_value=False)
    )
    names = trace.tracks["name"].to_pylist()
    found: dict[str, tuple[int, int]] = {}
    columns = (spans[name].to_pylist() for name in ("track", "start", "duration", "args"))
    for track, start, duration, args in zip(*columns, strict=True):
        distance = max(window[0] - (start + (duration or 0)), start - window[1])
        if distance > 0 and window[0] <= json.loads(args or "{}").get("reported", 0) <= window[1]:
            count, nearest = found.get(names[track], (0, distance))
            found[names[track]] = (count + 1, min(nearest, distance))
    return found
