"""Debug handles: the numbers with which a compiled backend names the operators that it runs, and their modules."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from eventide._util import process
from eventide._util.subscription import Subscription
from eventide.errors import UsageTypeError, UsageValueError

if TYPE_CHECKING:
    from eventide.trace import Trace

KEY = "Module Hierarchy"  # torch's


class _Table(NamedTuple):
    backend: str | None
    names: Mapping[int, str]


class _Tables:
    """What is registered. `tables` is replaced, never changed."""

    def __init__(self) -> None:
        self.tables: dict[int, _Table] = {}
        self.numbers = itertools.count()
        self.renew()

    def renew(self) -> None:
        """In a forked child: a thread of the parent may hold the lock."""
        self.lock = threading.Lock()  # guards the replacement

    def add(self, table: _Table) -> Subscription:
        number = next(self.numbers)
        with self.lock:
            self.tables = {**self.tables, number: table}
        return Subscription("debug handles", lambda: self._remove(number))

    def _remove(self, number: int) -> None:
        with self.lock:
            self.tables = {kept: table for kept, table in self.tables.items() if kept != number}

    def find(self, handle: object, backend: str | None) -> str | None:
        """The latest registration wins; one for this backend before one for all."""
        newest = list(reversed(self.tables.values()))
        for wanted in (backend, None):
            for table in newest:
                if table.backend == wanted and handle in table.names:
                    return table.names[handle]  # type: ignore[index]  # it is in there
        return None


_tables = _Tables()
process.after_fork(_tables.renew)


def register_debug_handles(
    handles: Mapping[int, object], *, module: object = None, backend: str | None = None
) -> Subscription:
    """Name the modules that a backend's debug handles refer to, until the result is closed.

    ``register_debug_handles({7: "encoder.0"}, module=net)``: events of `record_backend_event` with the handle 7 get the
    argument `Module Hierarchy`: "Net.encoder.0". Without `module` the texts are used as they are. With `backend` they
    are for this backend only: each compiler has handles of its own.
    """
    if not isinstance(handles, Mapping):
        raise UsageTypeError(f"handles must be a dict of debug handles and modules, not {type(handles).__name__}")
    if backend is not None and not isinstance(backend, str):
        raise UsageTypeError(f"backend must be the name of a backend or None, not {type(backend).__name__}")
    paths = _paths(module) if module is not None else None
    return _tables.add(_Table(backend, {_handle(number): _name(one, paths) for number, one in handles.items()}))


def _handle(number: object) -> int:
    if not isinstance(number, int) or isinstance(number, bool):
        raise UsageTypeError(f"a debug handle is a whole number, not {type(number).__name__}")
    return number


def _paths(module: Any) -> tuple[dict[str, str], dict[int, str]]:
    """The names of all modules inside this one, by their path and by their identity."""
    if not callable(getattr(module, "named_modules", None)):
        raise UsageTypeError(f"module must be a torch.nn.Module or None, not {type(module).__name__}")
    root = type(module).__name__
    named = [(path, one, f"{root}.{path}" if path else root) for path, one in module.named_modules()]
    return {path: name for path, _, name in named}, {id(one): name for _, one, name in named}


def _name(given: object, paths: tuple[dict[str, str], dict[int, str]] | None) -> str:
    if paths is None:
        if not isinstance(given, str):
            raise UsageTypeError(f"without module= a debug handle needs the name of a module, not {given!r}")
        return given
    name = paths[0].get(given) if isinstance(given, str) else paths[1].get(id(given))
    if name is None:
        shown = ", ".join(repr(path) for path in list(paths[0])[:10])
        raise UsageValueError(f"there is no module {given!r} in {paths[0]['']}; there are {shown}")
    return name


def with_modules(trace: Trace) -> Trace:
    """The trace with the module of each backend's event whose debug handle is registered."""
    if not _tables.tables or not trace.spans.num_rows:
        return trace
    found: dict[int, str] = {}
    backends = pc.fill_null(pc.equal(pc.cast(trace.spans["category"], pa.string()), "backend"), fill_value=False)
    args = trace.spans["args"].to_pylist() if pc.any(backends).as_py() else []
    for row in pc.indices_nonzero(backends).to_pylist():
        about = json.loads(args[row] or "{}")
        name = _tables.find(about.get("debug_handle"), about.get("Backend"))
        if name is not None:
            args[row] = found[row] = json.dumps({**about, KEY: name})
    if not found:
        return trace
    columns = {name: trace.spans[name] for name in trace.spans.column_names}
    return trace.replace(spans={**columns, "args": pa.array(args, trace.spans.schema.field("args").type)})
