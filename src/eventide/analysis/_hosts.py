"""The host threads of a trace, each nested once."""

from __future__ import annotations

from eventide.analysis._nesting import Nest, nest
from eventide.analysis._view import View


def nests_of(view: View) -> dict[int, Nest]:
    """The nest of each host thread that has spans; kept with the view, since most answers need it."""
    return view.remember(
        "nests", lambda: {t: nest(rows, view.start[rows], view.end[rows]) for t, rows in view.host_by_track.items()}
    )
