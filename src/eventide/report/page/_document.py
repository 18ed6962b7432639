"""The document around every page: head, policy, style, script. Nothing is loaded; only our own script may run."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

from eventide._util.html_text import text

_PATTERN = (
    '<svg width="0" height="0" class="hidden" aria-hidden="true"><defs><pattern id="unknown" width="8" height="8" '
    'patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="8" height="8" fill="#5c6673"/>'
    '<rect width="4" height="8" fill="#78828f"/></pattern></defs></svg>'
)


def document(
    title: str, facts: str, main: str, *, command: str, chip: str = "", dialog: str = "", data: str = ""
) -> str:
    """A whole page; all but the title and the facts are HTML. The script runs only where there is `data`."""
    script = _asset("app.js") if data else ""
    tools = (
        '<div class="tools"><button id="theme" type="button">Light or dark</button>'
        '<button id="helpButton" type="button">Keys (?)</button></div>'
        if script
        else ""
    )
    running = f"{dialog}\n{data}\n<script>{script}</script>" if script else ""
    body = f"""{_PATTERN}
<header><span class="brand">Eventide</span><h1>{text(title)}</h1>{chip}
<p class="facts">{text(facts)}</p>{tools}</header>
<main>
{main}
</main>
<footer>Made by {text(command)}. The file holds all that it shows, and loads nothing.</footer>
{running}"""
    allowed = f"script-src '{_hash(script)}'; img-src data:; " if script else "img-src data:; "
    return frame(title, _asset("style.css"), body, allowed)


def frame(title: str, style: str, body: str, allowed: str = "") -> str:
    """The file around the body of a page; `allowed` are directives of its policy beside that for the style."""
    policy = f"default-src 'none'; {allowed}style-src '{_hash(style)}'; base-uri 'none'; form-action 'none'"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{text(title)} - eventide</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def _asset(name: str) -> str:
    return resources.files("eventide.report.page").joinpath(name).read_text("utf-8").strip()


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode("ascii")
