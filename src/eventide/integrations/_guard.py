"""Listeners of ours inside other people's code: an error in one is logged and goes no further."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from eventide.errors import SanitizerError

_log = logging.getLogger("eventide.integrations")
P = ParamSpec("P")
T = TypeVar("T")


def guarded(listener: Callable[P, T]) -> Callable[P, T | None]:
    """The listener, which raises nothing but Ctrl-C and SystemExit into the framework that calls it."""

    @functools.wraps(listener)
    def call(*args: P.args, **kwargs: P.kwargs) -> T | None:
        try:
            return listener(*args, **kwargs)
        except SanitizerError:  # somebody asked for it: et.sanitize("raise")
            raise
        except Exception:  # noqa: BLE001  (never into the framework)
            _log.exception("%s.%s failed, the program goes on", listener.__module__, listener.__qualname__)
            return None

    return call
