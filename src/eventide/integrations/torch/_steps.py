"""Steps of a training loop, reported by torch's optimizers. Imports torch."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook

from eventide.integrations._patch import Installation


class TorchSteps:
    """Calls `reached(n)` when an optimizer has made its n-th step: several optimizers in one loop make one step.

    `created()` is called when an optimizer has been made: what comes before (imports, data, the model) is not a step.
    """

    def __init__(self, reached: Callable[[int], None], created: Callable[[], None] | None = None) -> None:
        self._installation = Installation()
        if created is not None:
            make = functools.partial(_followed_by, created)
            self._installation.install(lambda: self._installation.wrap(Optimizer, "__init__", make))
        self._counts: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._reached = reached
        self._handle = register_optimizer_step_post_hook(self._stepped)

    def _stepped(self, optimizer: Any, *_: Any) -> None:
        self._counts[optimizer] = count = self._counts.get(optimizer, 0) + 1
        self._reached(count)

    def close(self) -> None:
        """Stop counting."""
        self._handle.remove()
        self._installation.uninstall()


def _followed_by(created: Callable[[], None], original: Callable[..., None]) -> Callable[..., None]:
    def init(*args: Any, **kwargs: Any) -> None:
        original(*args, **kwargs)
        created()

    return init
