"""Memory of torch: each storage that an operator allocates, until it is freed. Imports torch.

Only storages that were allocated since the profile began are counted.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import torch

from eventide import _native


class TorchMemory:
    """Allocations and frees as memory events, with the total of each device."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # guards the two below; a finalizer may run while its thread holds it
        self._live: dict[int, tuple[str, int]] = {}  # device and bytes, by the storage's own address
        self._total: dict[str, int] = {}
        self.peak: dict[str, int] = {}
        self._closed = False

    def track(self, out: Any, at_ns: int, given: Any) -> None:
        """Track the storages of an operator's result, but not those of its arguments: it did not allocate them."""
        made = _storages(out)
        if made.keys() <= self._live.keys():
            return
        for key in made.keys() - _storages(given).keys():
            self._track_one(key, *made[key], at_ns)

    def _track_one(self, key: int, tensor: Any, storage: Any, at_ns: int) -> None:
        size = storage.nbytes()
        device = str(tensor.device) if tensor.device.index is not None else f"{tensor.device.type}:0"
        with self._lock:
            if not size or key in self._live or self._closed:
                return
            self._live[key] = (device, size)
            weakref.finalize(storage, self._freed, key, storage.data_ptr()).atexit = False
            self._report(device, size, storage.data_ptr(), at_ns)

    def _freed(self, key: int, address: int) -> None:
        with self._lock:
            known = self._live.pop(key, None)
            if known is not None and not self._closed:
                self._report(known[0], -known[1], address)

    def _report(self, device: str, size: int, address: int, at_ns: int = 0) -> None:
        self._total[device] = total = self._total.get(device, 0) + size
        self.peak[device] = max(self.peak.get(device, 0), total)
        _native.profiler_memory_event(address, size, total, total, device, at_ns)

    def close(self) -> None:
        """Report no more."""
        with self._lock:
            self._closed = True
            self._live.clear()


def _storages(value: Any) -> dict[int, tuple[Any, Any]]:
    """The tensors in a result, or in arguments, and their storages, by the identity that views of one share."""
    found = {}
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list | tuple):
            waiting.extend(one)
        elif isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, torch.Tensor) and one.layout is torch.strided and one.device.type != "meta":
            storage = one.untyped_storage()
            found[storage._cdata] = one, storage  # noqa: SLF001  (it has no other identity)
    return found
