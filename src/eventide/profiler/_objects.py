"""Calls of any Python object as spans: the class's __call__ is watched, for that one object.

A class is patched once and put back when the last profile lets go of it, in whatever order they end.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

from eventide.errors import UsageTypeError
from eventide.recording import span

_lock = threading.Lock()  # guards the two below
_watched: dict[type, list[weakref.ref[Any]]] = {}
_MISSING = object()


class CallWatch:
    """The calls of one object are spans, until closed."""

    def __init__(self, watched: Any) -> None:
        check_object(watched)
        self._kind = type(watched)
        self._ref = weakref.ref(watched)
        with _lock:
            first = self._kind not in _watched
            _watched.setdefault(self._kind, []).append(self._ref)
            if first:
                _patch(self._kind)

    def close(self) -> None:
        """Watch no more."""
        with _lock:
            kept = [ref for ref in _watched.get(self._kind, []) if ref is not self._ref]
            if kept:
                _watched[self._kind] = kept
            elif _watched.pop(self._kind, None) is not None:
                _restore(self._kind)


def check_object(watched: Any) -> None:
    """Refuse what cannot be watched, with the remedy."""
    kind = type(watched)
    if not callable(watched):
        raise UsageTypeError(f"module must be something that is called, or None, not {kind.__name__}")
    if isinstance(watched, type) or not kind.__flags__ & (1 << 9):  # Py_TPFLAGS_HEAPTYPE: a class written in Python
        raise UsageTypeError(
            f"the calls of a {kind.__name__} cannot be watched from outside; decorate it with @et.span instead"
        )


def _patch(kind: type) -> None:
    own = kind.__dict__.get("__call__", _MISSING)
    original = kind.__call__
    heard = span(kind.__name__)(original)

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807  (it is one)
        known = any(ref() is self for ref in _watched.get(kind, ()))
        return (heard if known else original)(self, *args, **kwargs)

    __call__._eventide_own = own  # type: ignore[attr-defined]  # noqa: SLF001  (to put back)
    kind.__call__ = __call__  # type: ignore[method-assign]  # what we are here for


def _restore(kind: type) -> None:
    own = getattr(kind.__dict__.get("__call__"), "_eventide_own", None)
    if own is _MISSING:
        del kind.__call__
    elif own is not None:
        kind.__call__ = own  # type: ignore[method-assign]  # as above
