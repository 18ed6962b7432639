"""Sentences with values: `{idle:time} of {wall:time}`; what is in [ ] is left out where a value of it is None."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from eventide._util import format as f
from eventide.errors import InternalError

_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
_FIELD = re.compile(r"\{(\w+)(?::([^}]*))?\}")
_FORMATS: dict[str, Callable[[Any], str]] = {
    "": str,
    "time": f.time,  # nanoseconds
    "size": f.size,  # bytes
    "quantity": f.quantity,
    "number": "{:,}".format,
    "name": lambda value: f.name(value, 40),
}


def fill(template: str, values: Mapping[str, Any]) -> str:
    """The sentence. Fields: `{x}`, with a format of `_FORMATS`, `{x:of whole}` (a percentage), `{x:count gap}`,
    `{x:name 30}` (its width).
    """

    def keep(part: re.Match[str]) -> str:
        return part[1] if all(values.get(name) is not None for name in fields(part[1])) else ""

    return _FIELD.sub(lambda field: _written(field[1], field[2] or "", values), _OPTIONAL.sub(keep, template))


def fields(template: str) -> list[str]:
    """The names of the values in a template."""
    return [name for name, _ in _FIELD.findall(template)]


def plain(template: str) -> str:
    """The template for a reader: its formats are left out."""

    def named(field: re.Match[str]) -> str:
        form, _, rest = (field[2] or "").partition(" ")
        return {"of": f"{{{field[1]} / {rest}}}", "count": f"{{{field[1]}}} {rest}s"}.get(form, f"{{{field[1]}}}")

    return _FIELD.sub(named, template)


def _written(name: str, form: str, values: Mapping[str, Any]) -> str:
    value = values[name]
    kind, _, rest = form.partition(" ")
    if kind == "of":
        return f.percent(value, values[rest])
    if kind == "count":
        return f.count(value, rest)
    if kind == "name" and rest:
        return f.name(value, int(rest))
    if form not in _FORMATS:
        raise InternalError(
            f"the template of a rule has {{{name}:{form}}}; use one of {', '.join(filter(None, _FORMATS))}"
        )
    return _FORMATS[form](value)
