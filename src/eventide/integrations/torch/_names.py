"""What a module calls the modules inside it, remembered: torch walks the whole tree to say it."""

from __future__ import annotations

import weakref
from typing import Any

_Place = tuple[str, tuple[str, ...]]  # a path and its parts
_NOWHERE: _Place = ("", ())


class Names:
    """Paths such as "encoder.0", by parent and child. Keeps no module alive, and believes nothing that has changed."""

    def __init__(self) -> None:
        # By the parent's id, and in it by the child's: modules may be compared in ways of their own. The reference
        # takes the entry away before the id can come to mean another module.
        self._known: dict[int, tuple[weakref.ref[Any], dict[int, _Place]]] = {}

    def remembered(self, parent: Any, child: Any) -> str:
        """The path as of the last walk; empty: there was none, or the child is there no more."""
        known = self._known.get(id(parent))
        if known is None:
            return ""
        path, parts = known[1].get(id(child), _NOWHERE)
        for part in parts:
            inside: Any = getattr(parent, "_modules", ())  # get_submodule takes ten times as long
            if part not in inside:
                return ""
            parent = inside[part]
        return path if parent is child else ""

    def walk(self, parent: Any) -> None:
        """Learn all of them."""
        key = id(parent)
        found: dict[int, _Place] = {key: _NOWHERE}
        _look_inside(parent, (), found)
        self._known[key] = (weakref.ref(parent, lambda _: self._forget(key)), found)

    def _forget(self, key: int) -> None:
        self._known.pop(key, None)


def _look_inside(module: Any, above: tuple[str, ...], found: dict[int, _Place]) -> None:
    """As named_modules(), which wants modules that can be hashed and may be the program's own."""
    for name, child in module._modules.items():  # noqa: SLF001  (torch has no other way to it that is not slow)
        if child is not None and id(child) not in found:
            parts = (*above, name)
            found[id(child)] = (".".join(parts), parts)
            _look_inside(child, parts, found)
