"""The only ways by which text and data enter HTML: pages, and what a notebook shows."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

# Controls, lone surrogates and characters that reorder or hide text: shown as U+XXXX instead of acting.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def visible(text: str) -> str:
    """The text with invisible characters replaced by their code points in brackets."""
    return _HIDDEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)


def text(value: object) -> str:
    """Text of an element or of a quoted attribute."""
    return html.escape(visible(str(value)), quote=True)


def data(value: Any) -> str:
    """JSON inside of a script element: no character in it can end the element or begin a comment."""
    written = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return written.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]], texts: int, more: str = "") -> str:
    """A small table for a notebook; the first `texts` columns are on the left, numbers on the right."""

    def row(cells: Sequence[object], name: str) -> str:
        sides = ["left" if number < texts else "right" for number in range(len(cells))]
        return "".join(
            f'<{name} style="text-align: {side}">{text(cell)}</{name}>' for cell, side in zip(cells, sides, strict=True)
        )

    body = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in rows)
    head = f"<thead><tr>{row(heads, 'th')}</tr></thead>"
    end = f"<p>{text(more)}</p>" if more else ""
    return f"<p><strong>{text(caption)}</strong></p><table>{head}<tbody>{body}</tbody></table>{end}"
