"""How Python programs that this process starts get the recording: variables in their environment.

`os.environ` is unchanged, since the program may print it, copy it or compare it. The variables are in the environment
of C, which a child without an environment of its own inherits, and are added where the program gives one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from eventide._native import Intercepted

BOOTSTRAP = str(Path(__file__).parent / "_bootstrap")
SETTINGS = "EVENTIDE_RUN"

# Python's helpers, which run nothing of the program.
_HELPERS = ("multiprocessing.resource_tracker", "multiprocessing.semaphore_tracker")


def with_bootstrap(variables: Mapping[str, str], pythonpath: str) -> dict[str, str]:
    """`variables` and a PYTHONPATH with the bootstrap in front; the bootstrap removes itself."""
    return {
        **variables,
        "PYTHONPATH": os.pathsep.join([BOOTSTRAP, pythonpath] if pythonpath else [BOOTSTRAP]),
    }


def added(environment: Any, variables: Mapping[str, str]) -> Any:
    """A copy of an environment, as str or bytes, with the recording in it; one that has a recording is unchanged."""
    given = {os.fsencode(key): os.fsencode(value) for key, value in dict(environment).items()}
    if SETTINGS.encode() in given:
        return environment
    ours = with_bootstrap(variables, os.fsdecode(given.get(b"PYTHONPATH", b"")))
    return given | {os.fsencode(key): os.fsencode(value) for key, value in ours.items()}


def added_to_list(environment: Any, variables: Mapping[str, str]) -> list[bytes] | None:
    """The same for a list of KEY=VALUE; None, the environment of C, remains None."""
    if environment is None:
        refresh(variables)
        return None
    pairs = dict(os.fsencode(one).partition(b"=")[::2] for one in environment)
    return [key + b"=" + value for key, value in added(pairs, variables).items()]


def is_helper(arguments: Any) -> bool:
    """True for a process of Python's own, whose life is that of the program."""
    try:
        return any(one in os.fsdecode(word) for word in arguments for one in _HELPERS)
    except TypeError:
        return False


class _State:
    """Of the environment of C."""

    pythonpath = ""  # that `os.environ` had when the variables were put into C's


_state = _State()


def put(variables: Mapping[str, str]) -> None:
    """Put the recording into the environment of C, and only there."""
    _state.pythonpath = os.environ.get("PYTHONPATH", "")
    for name, value in with_bootstrap(variables, _state.pythonpath).items():
        os.putenv(name, value)


def refresh(variables: Mapping[str, str]) -> None:
    """Put it there again if the program has changed PYTHONPATH since."""
    if os.environ.get("PYTHONPATH", "") != _state.pythonpath:
        put(variables)


def intercept(module: Any, name: str, before: Callable[..., Any] | None, after: Callable[..., Any] | None) -> None:
    """Call before(args, kwargs) and after(result, args) with each call of module.name; see _native.Intercepted."""
    original = getattr(module, name, None)
    if original is None:
        return
    made: Any = Intercepted(original, before, after)
    for attribute in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(made, attribute, getattr(original, attribute, None))
    setattr(module, name, made)
