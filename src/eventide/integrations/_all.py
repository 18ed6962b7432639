"""All integrations at once, each installed when its framework is imported: used by `eventide run` and `et.profile`."""

from __future__ import annotations

import importlib.util
from functools import partial
from importlib import import_module

from eventide._util.log import Log
from eventide._util.on_import import ImportHook, when_imported
from eventide._util.subscription import Subscription
from eventide.errors import UsageError, UsageValueError
from eventide.integrations._patch import version_of

NAMES = ("torch", "jax", "numba", "triton", "pyopencl")
"""The frameworks; the integration of each is the module of that name in this package."""

_log = Log("eventide.integrations")


class Adapters(Subscription):
    """Installs integrations when their frameworks are imported, until closed. `status` has the state of each."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__("imports of frameworks", self._uninstall)
        self.status = dict.fromkeys(names, "waiting")
        self._hooks: list[ImportHook] = []
        for name in names:
            if importlib.util.find_spec(f"{__package__}.{name}") is None:
                self.status[name] = "no integration"
                continue
            self._hooks.append(when_imported(name, partial(self._install, name), self._failed))

    def _install(self, name: str) -> None:
        try:
            integration = import_module(f"{__package__}.{name}")
            if integration.installed():
                self.status[name] = "installed by the program"
                return
            integration.install()
        except UsageError as error:  # its message is complete
            self._warn(name, str(error))
        except Exception as error:  # noqa: BLE001  (a framework that cannot be traced must not stop the program)
            self._warn(name, f"Eventide cannot trace {name} {version_of(name)}: {type(error).__name__}: {error}")
        else:
            self.status[name] = "installed"

    def _failed(self, name: str, error: BaseException) -> None:
        why = f"its import failed with {type(error).__name__}: {error}"
        self._warn(name, f"Eventide cannot trace {name}: {why}; try python -c 'import {name}'")

    def _warn(self, name: str, message: str) -> None:
        line = " ".join(message.split())
        self.status[name] = line
        _log.warning("%s", line)

    def _uninstall(self) -> None:
        """Install no more, and uninstall those that this installed."""
        for hook in self._hooks:
            hook.close()
        for name, status in self.status.items():
            if status == "installed":
                import_module(f"{__package__}.{name}").uninstall()
                self.status[name] = "closed"

    def __repr__(self) -> str:
        return f"<Adapters {', '.join(f'{name}: {status}' for name, status in self.status.items())}>"


def install_when_imported(*names: str) -> Adapters:
    """Install each integration (all, or those named) when the program imports its framework; now if it has."""
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        raise UsageValueError(f"there is no integration {unknown[0]!r}; there are {', '.join(NAMES)}")
    return Adapters(names or NAMES)
