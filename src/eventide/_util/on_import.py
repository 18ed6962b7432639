"""Call something when a module has been imported, without importing it.

A finder at the front of sys.meta_path lets the others find the module, then has its loader tell us once after it ran.
The module, its spec and its loader stay what they would have been.
"""

from __future__ import annotations

import importlib.util
import logging
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_log = logging.getLogger("eventide.integrations")
_lock = threading.RLock()  # guards _waiting and the place in sys.meta_path; nobody is called under it
_waiting: list[ImportHook] = []


class ImportHook:
    """Waiting for one module, until it came or until closed."""

    __slots__ = ("failed", "module", "ready")

    def __init__(
        self, module: str, ready: Callable[[], None], failed: Callable[[str, BaseException], None] | None
    ) -> None:
        self.module = module
        self.ready = ready
        self.failed = failed

    def close(self) -> None:
        """Wait no longer."""
        with _lock:
            if self in _waiting:
                _waiting.remove(self)
            if not _waiting and _FINDER in sys.meta_path:
                sys.meta_path.remove(_FINDER)


def when_imported(
    module: str, ready: Callable[[], None], failed: Callable[[str, BaseException], None] | None = None
) -> ImportHook:
    """Call ready() once `module` is imported, now if it is; failed(module, error) where its own code raised."""
    hook = ImportHook(module, ready, failed)
    with _lock:
        there = _is_whole(sys.modules.get(module))
        if not there:
            _waiting.append(hook)
            if _FINDER not in sys.meta_path:
                sys.meta_path.insert(0, _FINDER)
    if there:
        ready()
    return hook


def _is_whole(module: ModuleType | None) -> bool:
    """Imported, and not just being so: on the way, what an adapter needs may not be there yet."""
    return module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False)


class _Finder:
    """Finds nothing by itself."""

    def __init__(self) -> None:
        self._busy = threading.local()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the other finders find, with a loader that tells us when it is done."""
        if getattr(self._busy, "name", None) == name or not any(hook.module == name for hook in _waiting):
            return None
        self._busy.name = name
        try:
            spec = importlib.util.find_spec(name) if path is None else _search(name, path, target)
        except (ImportError, ValueError):
            return None
        finally:
            self._busy.name = None
        if spec is not None and hasattr(spec.loader, "exec_module"):
            _tell_after(name, spec.loader)
        return spec


_FINDER: Any = _Finder()


def _search(name: str, path: Sequence[str], target: ModuleType | None) -> ModuleSpec | None:
    """Ask the other finders for a submodule; find_spec() would import its parent anew."""
    for finder in tuple(sys.meta_path):
        if finder is not _FINDER and hasattr(finder, "find_spec"):
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
    return None


def _tell_after(name: str, loader: Any) -> None:
    original = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        loader.__dict__.pop("exec_module", None)  # the loader is itself again
        try:
            original(module)
        except BaseException as error:
            for hook in _take(name):
                if hook.failed is not None:
                    _guarded(hook.failed, name, error)
            raise
        for hook in _take(name):
            _guarded(hook.ready)

    try:
        loader.exec_module = exec_module
    except AttributeError:  # a loader without room for it: we hear nothing, the import works
        _log.warning("Eventide cannot hear %s: its loader %r cannot be watched", name, loader)


def _take(name: str) -> list[ImportHook]:
    with _lock:
        taken = [hook for hook in _waiting if hook.module == name]
        for hook in taken:
            hook.close()
    return taken


def _guarded(act: Callable[..., None], *arguments: object) -> None:
    try:
        act(*arguments)
    except Exception:  # noqa: BLE001  (an import of the program never fails for our sake)
        _log.exception("an adapter failed, the program goes on")
