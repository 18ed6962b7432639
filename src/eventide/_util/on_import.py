"""Call something when a module has been imported, without importing it.

A finder at the front of sys.meta_path lets the others find the module and wraps its loader, for one call. The module,
its spec and its loader are unchanged.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from eventide._util.log import Log

_log = Log("eventide.integrations")
_lock = threading.RLock()  # guards _waiting and the place in sys.meta_path; no callback runs under it
_waiting: list[ImportHook] = []


class ImportHook:
    """A callback for one module, until the module is imported or this is closed."""

    __slots__ = ("failed", "module", "ready")

    def __init__(
        self, module: str, ready: Callable[[], None], failed: Callable[[str, BaseException], None] | None
    ) -> None:
        self.module = module
        self.ready = ready
        self.failed = failed

    def close(self) -> None:
        """Cancel."""
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
    """True if the import is complete: during it, names that an integration needs may be missing."""
    return module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False)


class _Finder:
    """Finds no module by itself."""

    def __init__(self) -> None:
        self._busy = threading.local()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of the other finders, with a wrapped loader."""
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
            _wrap_loader(name, spec.loader)
        return spec


_FINDER: Any = _Finder()


def _search(name: str, path: Sequence[str], target: ModuleType | None) -> ModuleSpec | None:
    """Search a submodule with the other finders; find_spec() would import its parent again."""
    for finder in tuple(sys.meta_path):
        if finder is not _FINDER and hasattr(finder, "find_spec"):
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
    return None


def _wrap_loader(name: str, loader: Any) -> None:
    original = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        loader.__dict__.pop("exec_module", None)  # restores the loader
        try:
            original(module)
        except BaseException as error:
            for hook in _take(name):
                if hook.failed is not None:
                    _guarded(hook.failed, name, error)
            raise
        while hooks := _take(name):  # a callback may add one for the same module
            for hook in hooks:
                _guarded(hook.ready)

    try:
        loader.exec_module = exec_module
    except AttributeError:  # slots: the import works without us
        _log.warning("Eventide cannot trace %s: its loader %r cannot be wrapped", name, loader)


def _take(name: str) -> list[ImportHook]:
    with _lock:
        taken = [hook for hook in _waiting if hook.module == name]
        for hook in taken:
            hook.close()
    return taken


def _guarded(act: Callable[..., None], *arguments: object) -> None:
    try:
        act(*arguments)
    except Exception:  # noqa: BLE001  (our error must not break an import of the program)
        _log.exception("an integration failed, the program continues")
