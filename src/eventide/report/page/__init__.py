"""One HTML file with the whole report: it needs no network, no server and no other file.

make_page     from a trace and its report           here
              findings, bars and tables as HTML     _html
              the data of the timeline              _index, _blocks, _lanes, _columns
              how text enters the page              _escape
              app.js, style.css: built from web/ by `make web`
"""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

from eventide.analysis import View
from eventide.report._gather import Report
from eventide.report._report import describe_trace
from eventide.report.page import _html
from eventide.report.page._blocks import Detail, scripts
from eventide.report.page._escape import text
from eventide.report.page._index import PageIndex, describe
from eventide.trace import Trace

LIMIT = 40_000_000  # bytes of the file
# From most to least; the first that fits into the limit is used.
LADDER = (
    Detail(),
    Detail(arguments=False),
    Detail(grid=16, arguments=False),
    Detail(grid=16, arguments=False, edges=False),
)

__all__ = ["LIMIT", "make_page"]


def make_page(trace: Trace, report: Report, *, exact: bool = False, limit: int = LIMIT) -> str:
    """The page as text. `exact` keeps every nanosecond and argument, however large the file becomes."""
    view = View(trace)
    for detail in LADDER[:1] if exact else LADDER:
        index = PageIndex(view, report, detail)
        built = index.build()
        if index.blocks.size <= limit:
            break
    return _document(report, scripts(built, index.blocks), describe(detail))


def _document(report: Report, data: str, left_out: str) -> str:
    script, style = _asset("app.js"), _asset("style.css")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    note = f'<p class="note">{text(left_out)}</p>' if left_out else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{text(report.title)} - eventide</title>
<style>{style}</style>
</head>
<body>
<svg width="0" height="0" class="hidden" aria-hidden="true"><defs><pattern id="unknown" width="8" height="8" \
patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="8" height="8" fill="#5c6673"/>\
<rect width="4" height="8" fill="#78828f"/></pattern></defs></svg>
<header><h1>{text(report.title)}</h1><p class="facts">{text(describe_trace(report))}</p>
<div class="tools"><button id="theme" type="button">Light or dark</button>\
<button id="helpButton" type="button">Keys (?)</button></div></header>
<main>
{_html.header(report)}
{_html.finding_list(report)}
{_html.bars(report)}
{_html.step_bars(report)}
<section id="timeline" aria-label="Timeline"><h2>Timeline</h2>{note}
<p><label for="search">Search names</label> <input id="search" type="search" autocomplete="off"></p>
<div class="stage"><div id="scroller"><canvas id="lanes" tabindex="0" role="application" \
aria-label="Timeline. Arrow keys select spans; ? lists all keys."></canvas><div id="spacer"></div></div>
<aside id="panel" tabindex="0" aria-label="Details of the selection"></aside></div>
<p id="live" class="hidden" role="status" aria-live="polite"></p></section>
{_html.tables(report)}
</main>
<footer>Made by eventide report. The file holds the whole trace that it shows, and loads nothing.</footer>
<dialog id="help" aria-label="Keys"><h2>Keys</h2>{_html.key_list()}\
<button id="helpClose" type="button">Close</button></dialog>
{data}
<script>{script}</script>
</body>
</html>
"""


def _asset(name: str) -> str:
    return resources.files("eventide.report.page").joinpath(name).read_text("utf-8").strip()


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode("ascii")
