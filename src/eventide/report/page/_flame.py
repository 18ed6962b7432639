"""The flame graph: sampled stacks, callers above what they call, widths by time. It needs no script."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eventide._util import format as f
from eventide._util.html_text import text
from eventide.analysis import FlameNode

_ROW = 18  # px
_LEAST = 0.1  # percent of the width that a box needs
_DEEPEST = 120
_SHADES = 4  # of functions, by file
_HOW = (
    "Callers are above what they call; the width is time, on all threads, running and waiting. "
    "Imports are under the name of the module."
)


@dataclass(frozen=True)
class _Box:
    node: FlameNode
    left: float  # percent
    depth: int
    width: float


def flame_graph(root: FlameNode) -> str:
    """The section; empty without samples."""
    if not root.time:
        return ""
    boxes = list(_boxes(root, 0.0, 0, root.time))
    height = _ROW * (1 + max(box.depth for box in boxes))
    threads = ", ".join(f"{node.name} {f.time(node.time)}" for node in root.sorted())
    cells = "".join(_cell(box, root.time) for box in boxes)
    return (
        f'<section id="flame"><h2>Sampled stacks</h2><p class="note">{_HOW}</p>'
        f'<svg class="flame" role="img" aria-label="{text(threads)}" width="100%" height="{height}">{cells}</svg>'
        "</section>"
    )


def _boxes(node: FlameNode, left: float, depth: int, whole: int) -> Iterator[_Box]:
    """Depth first, without recursion: stacks of a program may be deep."""
    waiting = [(node, left, depth)]
    while waiting:
        node, left, depth = waiting.pop()
        yield _Box(node, left, depth, 100 * node.time / whole)
        for child in node.sorted() if depth < _DEEPEST else ():
            if 100 * child.time / whole >= _LEAST:
                waiting.append((child, left, depth + 1))
            left += 100 * child.time / whole


def _cell(box: _Box, whole: int) -> str:
    node = box.node
    place = f" ({node.place})" if node.place else ""
    about = f"{node.name}{place}: {f.time(node.time)}, {f.percent(node.time, whole)} of all threads"
    shade = f" s{sum(map(ord, node.place)) % _SHADES}" if node.kind == "function" else ""
    name = f'<text x="4" y="13">{text(f.name(node.name, 80))}</text>' if box.width >= 1 else ""
    return (
        f'<svg class="{node.kind}{shade}" x="{box.left:.3f}%" y="{box.depth * _ROW}" width="{box.width:.3f}%" '
        f'height="{_ROW - 1}"><title>{text(about)}</title><rect width="100%" height="100%"/>{name}</svg>'
    )
