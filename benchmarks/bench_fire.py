"""What does firing a hook's registry from Python cost, without a callback and with one Python callback?

Against torch's own `torch._utils.CallbackRegistry`, whose argument lists ours has. An empty loop is
subtracted on both sides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import eventide as et
from benchmarks._harness import Missing, Options, Row, compare, pinned, statement

if TYPE_CHECKING:
    from collections.abc import Iterator


def callback(event: int, stream: int) -> None:
    pass


def torch_registry() -> tuple[Any, str]:
    """The registry of torch and its name for the table; without torch, a Missing in the registry's place."""
    try:
        import torch
        from torch._utils import CallbackRegistry
    except Exception as error:  # noqa: BLE001  a half-installed torch fails in many ways
        return Missing(f"torch cannot be imported ({error})"), "torch CallbackRegistry"
    return CallbackRegistry("benchmark"), f"torch {torch.__version__} CallbackRegistry"


def rows(options: Options) -> Iterator[Row]:
    number = options.number(300_000)
    fire = "registry.fire_callbacks(1, 2)"
    ours = et.hooks.EventRecordCallbacks
    theirs, against = torch_registry()
    missing = isinstance(theirs, Missing)
    mine = statement(fire, {"registry": ours}, number)
    peer = theirs if missing else statement(fire, {"registry": theirs}, number)
    with pinned():
        yield compare("fire_callbacks, no callback", against, mine, peer, options, bar=1 / 6)
        if not missing:
            theirs.add_callback(callback)
        with ours.add_callback(callback):
            yield compare("fire_callbacks, one Python callback", against, mine, peer, options, bar=1 / 3)
