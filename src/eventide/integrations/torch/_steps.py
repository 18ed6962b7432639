"""Steps of a training loop, reported by torch's optimizers. Imports torch."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from torch.optim.optimizer import register_optimizer_step_post_hook


class TorchSteps:
    """Calls `reached(n)` when an optimizer has made its n-th step: several optimizers in one loop make one step."""

    def __init__(self, reached: Callable[[int], None]) -> None:
        self._counts: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._reached = reached
        self._handle = register_optimizer_step_post_hook(self._stepped)

    def _stepped(self, optimizer: Any, *_: Any) -> None:
        self._counts[optimizer] = count = self._counts.get(optimizer, 0) + 1
        self._reached(count)

    def close(self) -> None:
        """Stop counting."""
        self._handle.remove()
