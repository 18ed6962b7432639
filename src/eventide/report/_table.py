"""One way to draw a table: the title heads the first column, names give way in a narrow terminal, numbers never."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

_GAP = 2  # between columns
_LEAST = 12  # columns of a terminal that a text keeps


@dataclass(frozen=True)
class Fitted:
    """Drawn when the width is known; the first `texts` columns hold text, the others numbers."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        drawn = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
        for index, (head, width) in enumerate(zip(self.heads, self.widths(options.max_width), strict=True)):
            style = "bold not dim" if index == 0 else ""
            side = "left" if index < self.texts else "right"
            drawn.add_column(Text(head, style=style), justify=side, no_wrap=True, overflow="ellipsis", width=width)  # type: ignore[arg-type]
        for row in self.rows:
            drawn.add_row(*(Text(cell) for cell in row))
        yield drawn

    def widths(self, room: int) -> list[int]:
        """What each column needs; too much is taken from the texts, from the widest first."""
        needed = [
            max([len(head), *(len(row[index]) for row in self.rows if index < len(row))])
            for index, head in enumerate(self.heads)
        ]
        return fit(needed, range(self.texts), room - _GAP * (len(needed) - 1))


def fit(needed: Sequence[int], texts: Sequence[int], room: int) -> list[int]:
    """These widths, with what is too much taken from the texts, from the widest first; they may not fit even so."""
    widths, over = list(needed), sum(needed) - room
    while over > 0 and texts:
        widest = max(texts, key=lambda index: widths[index])
        if widths[widest] <= _LEAST:
            break
        others = [widths[index] for index in texts if index != widest]
        step = min(over, max(widths[widest] - max([_LEAST, *others]), 1))
        widths[widest] -= step
        over -= step
    return widths


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> Fitted:
    """The first `texts` columns, the title's among them, hold text, the others numbers."""
    return Fitted((title, *columns), rows, texts)
