"""Our code inside a framework: put in, kept from raising, and taken out again.

    Installation      the patches of one integration; install and uninstall are idempotent and thread-safe
    guarded           a callback whose errors are logged and never reach the framework
    cannot_trace      the error for a framework that is missing, or of another version

A patch replaces an attribute by a switch, which calls our wrapper or, once it is off, the original. Uninstalling turns
the switch off and restores the attribute if it still holds our switch. If another library has replaced it meanwhile,
its patch stays, and our switch inside it passes calls through.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from eventide._util import process
from eventide._util.log import Log
from eventide._util.on_import import when_imported
from eventide.errors import SanitizerError, UsageError

_log = Log("eventide.integrations")
P = ParamSpec("P")
T = TypeVar("T")

# The version that each integration was tested with; docs/integrations.md has the same.
TESTED = {"torch": "2.13.0", "jax": "0.10.2", "numba": "0.68.1", "triton": "3.9.0", "pyopencl": "2026.1.4"}
_PACKAGES = {"pyopencl": "'pyopencl[pocl]'"}
# Raised where a framework lacks a name that an integration uses, or has another meaning for it.
_MISSING = (ImportError, AttributeError, KeyError, TypeError)
_ABSENT: Any = object()


class Installation:
    """What an integration has put into its framework.

    `install(apply, "framework.module", ...)` imports the modules and calls apply() with them, which calls the other
    methods. If it fails because a name is missing, all is taken out again and the error names the remedy.
    """

    def __init__(self, framework: str = "") -> None:
        self._framework = framework  # empty: a part of an integration, whose errors are not translated
        self._lock = threading.RLock()  # guards the others; a hook of when_imported() may run inside apply()
        self._undo: list[Callable[[], object]] = []
        self._generation = 0  # one more for each uninstall
        self._installed = False
        process.after_fork(self._after_fork)

    @property
    def installed(self) -> bool:
        """True between install() and uninstall()."""
        return self._installed

    def install(self, apply: Callable[..., None], *modules: str) -> None:
        """Install; nothing happens if it is installed. The imports run without the lock: they take locks of Python."""
        try:
            imported = [import_module(name) for name in modules]
            with self._lock:
                if self._installed:
                    return
                try:
                    apply(*imported)
                except BaseException:
                    self._remove()
                    raise
                self._installed = True
        except _MISSING as error:
            if not self._framework:
                raise
            raise cannot_trace(self._framework, error) from error

    def uninstall(self) -> None:
        """Take everything out, the latest first; nothing happens if it is not installed."""
        with self._lock:
            self._installed = False
            self._remove()

    def wrap(self, owner: Any, name: str, make: Callable[[Any], Callable[..., Any]]) -> None:
        """Replace the function `owner.name` by make(it)."""
        original = getattr(owner, name)
        self.replace(owner, name, *switch(make(original), original))

    def replace(self, owner: Any, name: str, ours: Any, turn_off: Callable[[], object]) -> None:
        """Put `ours` in the place of `owner.name`. After turn_off() it has no effect, wherever it is still used."""
        with self._lock:
            original = vars(owner).get(name, _ABSENT)
            setattr(owner, name, ours)
            self.on_uninstall(functools.partial(_restore, owner, name, ours, original))
            self.on_uninstall(turn_off)

    def when_imported(self, module: str, patch: Callable[[], None]) -> None:
        """Call patch() once the program has imported the module, unless this is uninstalled before."""
        generation = self._generation

        def run() -> None:
            with self._lock:
                if generation == self._generation:
                    patch()

        self.on_uninstall(when_imported(module, run).close)

    def on_uninstall(self, undo: Callable[[], object]) -> None:
        """Call undo() at the next uninstall, before those that were added earlier."""
        with self._lock:
            self._undo.append(undo)

    def _remove(self) -> None:
        self._generation += 1
        while self._undo:
            undo = self._undo.pop()
            try:
                undo()
            except Exception:  # noqa: BLE001  (the others must run)
                _log.exception("a patch was not removed: %s", undo)

    def _after_fork(self) -> None:
        """Another thread of the parent may have held the lock, half-way through install(): that is taken out."""
        self._lock = threading.RLock()
        if self._undo and not self._installed:
            self._remove()


def switch(ours: Callable[..., Any], original: Any) -> tuple[Callable[..., Any], Callable[[], None]]:
    """A function that calls `ours` until the second function is called, and `original` from then on."""
    on = True
    updated = () if isinstance(original, type) else functools.WRAPPER_UPDATES

    @functools.wraps(original, updated=updated)
    def call(*args: Any, **kwargs: Any) -> Any:
        return ours(*args, **kwargs) if on else original(*args, **kwargs)

    def turn_off() -> None:
        nonlocal on
        on = False

    return call, turn_off


def _restore(owner: Any, name: str, ours: Any, original: Any) -> None:
    if vars(owner).get(name) is not ours:
        return  # replaced by another library, which may call ours
    if original is _ABSENT:
        delattr(owner, name)
    else:
        setattr(owner, name, original)


def guarded(callback: Callable[P, T]) -> Callable[P, T | None]:
    """The callback, which raises only Ctrl-C and SystemExit into the framework that calls it."""

    @functools.wraps(callback)
    def call(*args: P.args, **kwargs: P.kwargs) -> T | None:
        try:
            return callback(*args, **kwargs)
        except SanitizerError:  # requested by et.sanitize("raise")
            raise
        except Exception:  # noqa: BLE001  (never into the framework)
            _log.exception("%s.%s failed, the program continues", callback.__module__, callback.__qualname__)
            return None

    return call


def cannot_trace(framework: str, error: Exception) -> UsageError:
    """The error for a framework that is missing, or in which `error` shows that a name is missing."""
    package = _PACKAGES.get(framework, framework)
    if isinstance(error, ModuleNotFoundError) and error.name == framework:
        return UsageError(f"Eventide cannot trace {framework}: it is not installed; pip install {package}")
    why = f"it has no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
    return UsageError(
        f"Eventide cannot trace {framework} {version_of(framework)}: {why}; the integration was tested with "
        f"{TESTED[framework]}: pip install --upgrade {package}"
    )


def version_of(framework: str) -> str:
    """The version that an imported framework reports."""
    return str(getattr(sys.modules.get(framework), "__version__", "of unknown version"))
