"""The data of a page: an index that is read at once, and blocks that are inflated when they are shown."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from eventide._util import html_text
from eventide.analysis import View
from eventide.report.page._columns import Ints, encode, pack, zigzag
from eventide.report.page._lanes import Lane

TILE = 32_768  # spans
_SAMPLE = 16  # every so many tiles are encoded first, to see what all will take
_MARGIN = 1.1  # by which such an estimate may be too large
COARSE, FINE = 512, 4096  # buckets of the two overviews
_EDGE_KINDS = ("launch", "wait", "synchronize", "fwdbwd", "flow")


@dataclass
class Blocks:
    """Blocks by number; `add` returns the number."""

    texts: list[str] = field(default_factory=list)

    def add(self, text: str) -> int:
        self.texts.append(text)
        return len(self.texts) - 1

    @property
    def size(self) -> int:
        """Bytes in the page."""
        return sum(len(text) + 60 for text in self.texts)


@dataclass(frozen=True)
class Detail:
    """What the page keeps of each span, from most to least."""

    grid: int = 1  # ns
    arguments: bool = True
    edges: bool = True
    slack: bool = True


_Tile = tuple[dict[str, Any], dict[str, str]]  # its entry in the index, and its blocks by their key in the entry


class SpanBlocks:
    """Encodes the spans of a trace, lane by lane and tile by tile.

    `slack` is that of each span; `pointed` are the spans whose arguments are kept where all would be too many.
    """

    def __init__(
        self, view: View, lanes: list[Lane], detail: Detail, blocks: Blocks, *, slack: Ints, pointed: Ints
    ) -> None:
        self.view, self.lanes, self.detail, self.blocks = view, lanes, detail, blocks
        self.slack, self.pointed = slack, pointed
        self.origin = view.window[0] if view.count else 0
        self.label, self.labels = view.remember("labels of the page", lambda: labels_of(view))
        self.place = view.remember("places in the page", self._places)  # lane of each span
        self.ends = view.remember("edges of the page", self._edges) if detail.edges else {}

    def _places(self) -> Ints:
        place = np.full(self.view.count, -1, np.int64)
        for number, lane in enumerate(self.lanes):
            place[lane.rows] = number
        return place

    def index(self, limit: float) -> list[dict[str, Any]] | None:
        """Encode everything; the entry of each lane. None, early, where the blocks would take more than the limit."""
        jobs = [
            (number, lane.rows[low : low + TILE])
            for number, lane in enumerate(self.lanes)
            for low in range(0, len(lane.rows), TILE)
        ]
        tiles = self._encoded(jobs, limit)
        if tiles is None:
            return None
        found: list[dict[str, Any]] = [
            {"track": lane.track, "depth": lane.depth, "n": len(lane.rows), "tiles": []} for lane in self.lanes
        ]
        for (number, _), (entry, texts) in zip(jobs, tiles, strict=True):
            found[number]["tiles"].append({**entry, **{key: self.blocks.add(text) for key, text in texts.items()}})
        return found

    def _encoded(self, jobs: list[tuple[int, Ints]], limit: float) -> list[_Tile] | None:
        """The tiles of these jobs. First some of all lanes, from which the size of all is estimated."""
        order = sorted(range(len(jobs)), key=lambda job: job % _SAMPLE)
        tiles: dict[int, _Tile] = {}
        size, spans, total = 0, 0, sum(len(rows) for _, rows in jobs)
        with ThreadPoolExecutor(2) as pool:  # zlib releases the GIL
            for low in range(0, len(order), _SAMPLE):
                batch = order[low : low + _SAMPLE]
                for job, tile in zip(batch, pool.map(lambda job: self._tile(*jobs[job]), batch), strict=True):
                    tiles[job] = tile
                    size += sum(map(len, tile[1].values()))
                    spans += len(jobs[job][1])
                if size > limit or (spans * _SAMPLE >= total and size / spans * total > limit * _MARGIN):
                    return None
        return [tiles[job] for job in range(len(jobs))]

    def _tile(self, number: int, rows: Ints) -> _Tile:
        start, end = self._times(rows)
        before = np.append(start[0], np.maximum.accumulate(end)[:-1])
        columns = [np.maximum(start - before, 0), end - start, self.label[rows], self.view.stack[rows] + 1]
        spans = encode(columns)
        entry = {"n": len(rows), "t": int(start[0]), "e": int(end.max()), "w": spans.widths}
        texts = {"b": spans.text}
        lines = self._arguments(rows)
        if any(lines):
            texts["a"] = pack("\n".join(line.replace("\n", " ") if line else "" for line in lines).encode())
        slack = self.slack[rows] + 1 if self.detail.slack else rows[:0]
        if slack.any():
            block = encode([slack])
            entry["kw"], texts["k"] = block.widths, block.text
        if number in self.ends:
            self._add_edges(number, rows, entry, texts)
        return entry, texts

    def _arguments(self, rows: Ints) -> list[str | None]:
        column = self.view.trace.spans.column("args")
        if self.detail.arguments:
            return texts_of(column, rows)
        chosen = np.flatnonzero(np.isin(rows, self.pointed)) if len(self.pointed) else self.pointed
        lines: list[str | None] = [None] * len(rows) if len(chosen) else []
        for place, line in zip(chosen.tolist(), texts_of(column, rows[chosen]), strict=True):
            lines[place] = line
        return lines

    def _times(self, rows: Ints) -> tuple[Ints, Ints]:
        """Relative to the origin, in steps of the grid; spans of a lane stay disjoint."""
        grid = self.detail.grid
        return (self.view.start[rows] - self.origin) // grid, (self.view.end[rows] - self.origin) // grid

    def _edges(self) -> dict[int, tuple[Ints, ...]]:
        """By lane: row, kind and direction, the lane of the other end, and its time; sorted by row's start."""
        parts = []
        for kind, word in enumerate(_EDGE_KINDS):
            edges = self.view.edges(word)
            known = (edges.from_span >= 0) & (edges.to_span >= 0)
            one, other = edges.from_span[known], edges.to_span[known]
            parts.append((one, np.full(len(one), 2 * kind), other))
            parts.append((other, np.full(len(one), 2 * kind + 1), one))
        row, what, other = (np.concatenate(column) for column in zip(*parts, strict=True))
        keep = (self.place[row] >= 0) & (self.place[other] >= 0) if len(row) else np.zeros(0, bool)
        row, what, other = row[keep], what[keep], other[keep]
        order = np.lexsort((self.view.start[row], self.place[row]))
        row, what, other = row[order], what[order], other[order]
        lane = self.place[row]
        cuts = np.searchsorted(lane, np.arange(len(self.lanes) + 1))
        spans = zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
        return {
            n: (row[low:high], what[low:high], other[low:high]) for n, (low, high) in enumerate(spans) if high > low
        }

    def _add_edges(self, number: int, rows: Ints, entry: dict[str, Any], texts: dict[str, str]) -> None:
        row, what, other = self.ends[number]
        local = np.searchsorted(self.view.start[rows], self.view.start[row], side="left")
        local = np.minimum(local, len(rows) - 1)
        here = rows[local] == row
        # Two spans of one lane have the same start only if the first has no length; its edges are left out.
        row, what, other, local = row[here], what[here], other[here], local[here]
        if len(row) == 0:
            return
        time = self._times(other)[0] - self._times(row)[0]
        block = encode([np.diff(local, prepend=0), what, self.place[other], zigzag(time)])
        entry["ew"], entry["en"] = block.widths, block.rows
        texts["x"] = block.text

    def overview(self, buckets: int) -> dict[str, Any]:
        """For each lane and bucket: the share that spans cover (0 to 255), and the kind that covers most of it."""
        block = self.view.remember(f"overview of {buckets}", lambda: self._overview(buckets))
        return {"buckets": buckets, "b": self.blocks.add(block)}

    def _overview(self, buckets: int) -> str:
        low, high = self.view.window
        scale = max((high - low) / buckets, 1e-9)
        kinds = self.view.category
        shares = np.zeros((len(self.lanes), buckets), np.uint8)
        owner = np.zeros((len(self.lanes), buckets), np.uint8)
        for number, lane in enumerate(self.lanes):
            start = (self.view.start[lane.rows] - low) / scale
            end = (self.view.end[lane.rows] - low) / scale
            covered, most = _buckets(start, end, kinds[lane.rows], buckets)
            shares[number] = np.minimum(np.ceil(covered * 255), 255)
            owner[number] = most
        return pack(shares.tobytes() + owner.tobytes())


def texts_of(column: pa.ChunkedArray, rows: Ints) -> list[str | None]:
    """These rows of a column. Its own `take` copies all chunks into one first, for every tile."""
    firsts = np.cumsum([0, *(len(chunk) for chunk in column.chunks)])
    where = np.searchsorted(firsts, rows, side="right") - 1
    found: list[str | None] = [None] * len(rows)
    for chunk in np.unique(where).tolist():
        mine = np.flatnonzero(where == chunk)
        taken = column.chunk(chunk).take(pa.array(rows[mine] - firsts[chunk])).to_pylist()
        for place, text in zip(mine.tolist(), taken, strict=True):
            found[place] = text
    return found


def _buckets(start: Any, end: Any, kind: Ints, buckets: int) -> tuple[Any, Any]:
    """The covered share of each bucket, and the kind of the span that covers most of it."""
    first = np.clip(start.astype(np.int64), 0, buckets - 1)
    last = np.clip(np.ceil(end).astype(np.int64) - 1, first, buckets - 1)
    running = np.zeros(buckets + 1)
    # Whole buckets between the first and the last, by differences; the two ends by themselves.
    np.add.at(running, first + 1, np.where(last > first, 1.0, 0.0))
    np.add.at(running, last, np.where(last > first, -1.0, 0.0))
    covered = np.cumsum(running[:-1])
    head = np.minimum(end, first + 1) - start
    np.add.at(covered, first, head)
    np.add.at(covered, last, np.where(last > first, end - last, 0.0))
    most = np.zeros(buckets, np.int64)
    best = np.zeros(buckets)
    inside = np.argsort(head, kind="stable")
    most[first[inside]], best[first[inside]] = kind[inside], head[inside]
    for span in np.flatnonzero(last > first).tolist():
        low, high = int(first[span]) + 1, int(last[span])
        most[low:high], best[low:high] = kind[span], 1.0
        tail = float(end[span]) - high
        if tail > best[high]:
            most[high], best[high] = kind[span], tail
    return covered, most


def labels_of(view: View) -> tuple[Ints, list[tuple[int, int]]]:
    """Each distinct pair of name and category is a label: the label of each span, and the pairs."""
    pair = view.name * (len(view.categories) + 1) + view.category
    found, label = np.unique(pair, return_inverse=True)
    pairs = [divmod(int(each), len(view.categories) + 1) for each in found]
    return label.astype(np.int64), pairs


def scripts(index: dict[str, Any], blocks: Blocks) -> str:
    """The index and the blocks as inert script elements."""
    parts = [f'<script type="application/json" id="index">{html_text.data(index)}</script>']
    parts += [
        f'<script type="application/octet-stream" id="b{number}">{block}</script>'
        for number, block in enumerate(blocks.texts)
    ]
    return "\n".join(parts)
