"""All adapters at once, each when its framework is imported: what `eventide run` uses."""

from __future__ import annotations

import importlib.util
import logging
from functools import partial
from importlib import import_module
from types import TracebackType
from typing import Self

from eventide._util.on_import import ImportHook, when_imported
from eventide.errors import UsageError, UsageValueError
from eventide.integrations._unheard import version_of

NAMES = ("torch", "jax", "numba", "triton", "pyopencl")
"""The frameworks; the adapter of each is the module of that name in this package."""

_log = logging.getLogger("eventide.integrations")


class Adapters:
    """Adapters that wait for their frameworks, until closed. `status` says of each what became of it."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.status = dict.fromkeys(names, "waiting")
        self._hooks: list[ImportHook] = []
        for name in names:
            if importlib.util.find_spec(f"{__package__}.{name}") is None:
                self.status[name] = "no adapter"
                continue
            self._hooks.append(when_imported(name, partial(self._install, name), self._failed))

    def _install(self, name: str) -> None:
        try:
            adapter = import_module(f"{__package__}.{name}")
            if adapter.installed():
                self.status[name] = "installed by somebody else"
                return
            adapter.install()
        except UsageError as error:  # which says it all
            self._say(name, str(error))
        except Exception as error:  # noqa: BLE001  (one framework that we cannot hear must not stop the program)
            self._say(name, f"Eventide cannot hear {name} {version_of(name)}: {type(error).__name__}: {error}")
        else:
            self.status[name] = "installed"

    def _failed(self, name: str, error: BaseException) -> None:
        why = f"its import failed with {type(error).__name__}: {error}"
        self._say(name, f"Eventide cannot hear {name}: {why}; try python -c 'import {name}'")

    def _say(self, name: str, said: str) -> None:
        line = " ".join(said.split())
        self.status[name] = line
        _log.warning("%s", line)

    def close(self) -> None:
        """Wait no longer, and uninstall what was installed."""
        for hook in self._hooks:
            hook.close()
        for name, status in self.status.items():
            if status == "installed":
                import_module(f"{__package__}.{name}").uninstall()
                self.status[name] = "closed"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Adapters {', '.join(f'{name}: {status}' for name, status in self.status.items())}>"


def install_when_imported(*names: str) -> Adapters:
    """Install each adapter (all, or those named) as soon as the program imports its framework; now if it has."""
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        raise UsageValueError(f"there is no adapter {unknown[0]!r}; there are {', '.join(NAMES)}")
    return Adapters(names or NAMES)
