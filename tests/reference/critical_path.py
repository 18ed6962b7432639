"""The critical path by hand: from the end back, one step at a time, always to the constraint that was lifted last."""

from __future__ import annotations

from tests.reference.analysis import KINDS, Model, Span, blocking, may_hide_a_wait

Piece = tuple[int, int, str, int | None]  # start, end, kind, row of spans


def path_of(model: Model) -> list[Piece]:
    begin, end = model.window
    work = [s for s in model.work if s.end > s.start]
    line = _main(model)
    pieces: list[Piece] = []
    at: int = end
    latest = max(work, key=lambda s: (s.end, -s.row), default=None)
    seen = max((s.end for s in model.host if s.track == line and s.end > s.start), default=begin)
    current: Span | None = None
    if latest is None and line is None:
        return [(begin, end, "unknown", None)] if end > begin else []
    if latest is not None and (line is None or seen < latest.end):
        current = latest
        _add(pieces, latest.end, end, "unknown", None)
        at = latest.end
    while at > begin:
        if current is not None:
            _add(pieces, max(current.start, begin), at, KINDS[current.category], current.row)
            current, line, at = _before(model, work, current, pieces, begin)
        else:
            assert line is not None
            current, at = _on_host(model, line, at, pieces, begin)
    return pieces[::-1]


def _add(pieces: list[Piece], start: int, end: int, kind: str, row: int | None) -> None:
    if end > start:
        pieces.append((start, end, kind, row))


def _before(
    model: Model, work: list[Span], span: Span, pieces: list[Piece], begin: int
) -> tuple[Span | None, int | None, int]:
    """What let a piece of work begin: the event, the work before it on the stream, or the launch; the last of them."""
    choices: list[tuple[int, int, str, Span | None]] = []
    waits = [model.spans[row] for row in model.waits.get(span.row, [])]
    if waits:
        last = max(reversed(waits), key=lambda s: s.end)
        if last in work and last.end <= span.start:
            choices.append((last.end, 2, "stream wait", last))
    before = [s for s in work if s.track == span.track and s.end <= span.start]
    ahead = [s for s in work if s.track == span.track and (s.start, s.end, s.row) < (span.start, span.end, span.row)]
    previous = max(ahead, key=lambda s: (s.start, s.end, s.row), default=None)
    if previous is not None and _barely_overlap(previous, span):
        choices.append((span.start, 1, "queued", previous))
    elif before:
        last = max(before, key=lambda s: (s.end, s.start, s.row))
        choices.append((last.end, 1, "queued", last))
    if span.row in model.launch:
        call = model.spans[model.launch[span.row]]
        choices.append((min(call.start, span.start), 0, "launch", None))
    if not choices:
        _add(pieces, begin, span.start, "unknown", span.row)
        return None, None, begin
    time, _, kind, source = max(choices, key=lambda choice: choice[:2])
    _add(pieces, time, span.start, "unknown" if may_hide_a_wait(model, span) else kind, span.row)
    line = model.spans[model.launch[span.row]].track if source is None else None
    return source, line, time


def _barely_overlap(one: Span, other: Span) -> bool:
    overlap = one.end - other.start
    return one.start < other.start and 0 < overlap * 2 < min(one.end - one.start, other.end - other.start)


def _on_host(model: Model, line: int, at: int, pieces: list[Piece], begin: int) -> tuple[Span | None, int]:
    """One segment back on a thread, or to the work that a synchronization waited for."""
    owner = model.innermost([line], at - 1)
    low = at
    stops = _stops(model, line)
    while low > begin:
        low -= 1
        if low in stops or low == begin or model.innermost([line], low - 1) is not owner:
            break
    kind = "host" if owner is not None else "unrecorded host"
    blocked = blocking(model)
    if owner is not None and owner.row in blocked:
        awaited = blocked[owner.row]
        kind = "blocked" if awaited is None else "host"
        source = model.spans[awaited] if awaited is not None else owner
        done = min(source.end, owner.end)
        if source is not owner and done > owner.start and source.start < done:
            if at == done:
                return source, done
            if low == done:
                _add(pieces, low, at, "sync return", owner.row)
                return source, done
    _add(pieces, low, at, kind, owner.row if owner is not None else None)
    return None, low


def _stops(model: Model, line: int) -> set[int]:
    """Where a thread's time is cut: at its launches, when what it waited for was done, and when its own copy began."""
    found = set()
    for work in model.work:
        call = model.spans[model.launch[work.row]] if work.row in model.launch else None
        if call is not None and call.track == line and work.end > work.start:
            found.add(min(call.start, work.start))
    for blocked, source in blocking(model).items():
        if source is not None and model.spans[blocked].track == line:
            done = min(model.spans[source].end, model.spans[blocked].end)
            found.add(done)
            awaited = model.spans[source]
            real = done > model.spans[blocked].start and awaited.start < done and awaited in model.work
            if real and model.launch.get(source) == blocked:
                found.add(awaited.start)
    return found


def _main(model: Model) -> int | None:
    """The thread that launches the most, else the one with the most recorded time."""
    best: tuple[tuple[int, int], int] | None = None
    for thread in model.threads:
        launched = sum(model.spans[call].track == thread for call in model.launch.values())
        recorded = sum(model.innermost([thread], tick) is not None for tick in range(*model.window))
        if not launched and not recorded:
            continue
        if best is None or (launched, recorded) > best[0]:
            best = ((launched, recorded), thread)
    return best[1] if best else None
