"""torch.compile under the adapter: forward, backward, recompiles, a graph break, a failing backend. Prints JSON.

argv: the backend, and whether the adapter is installed `before` or `after` torch and its compiler are imported.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from eventide import compiling, integrations

BACKEND, WHEN = sys.argv[1], sys.argv[2]
if WHEN == "before":
    integrations.torch.install()
    assert "torch" not in sys.modules, "the adapter imported torch"
import torch  # noqa: E402

if WHEN == "after":
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1))
    integrations.torch.install()
integrations.torch.install()  # the second time does nothing

traced: list[Any] = []
story: dict[str, Any] = {}
compiling.on_compile_start(lambda args: traced.append(["start", args.callback_trigger.name, args.compile_id]))
compiling.on_compile_end(lambda args: traced.append(["end", args.callback_trigger.name, args.compile_id]))
compiling.on_each_compile(
    lambda record: traced.append(
        {
            "trigger": record.trigger.name,
            "id": record.id,
            "name": record.name,
            "depth": record.depth,
            "ok": record.ok,
            "error": record.error,
            "recompile": record.recompile,
            "reason": record.reason,
            "graph_breaks": record.graph_breaks,
            "cache_hit": record.cache_hit,
            "stages": dict(record.stages_ns or ()),
            "duration": record.duration_ns,
            "own_thread": record.thread == threading.get_native_id(),
            "details": dict(record.details),
        }
    )
)


def chapter(name: str) -> None:
    story[name] = traced[:]
    traced.clear()


def parabola(x: torch.Tensor) -> torch.Tensor:
    return (x * x + 1).sum()


def fresh(*shape: int, grad: bool = True) -> torch.Tensor:
    return torch.ones(*shape, requires_grad=grad)


torch._dynamo.reset()  # forgets torch's own callbacks
traced.clear()
compiled = torch.compile(parabola, backend=BACKEND)
compiled(fresh(8))
chapter("forward")
compiled(fresh(8)).backward()
chapter("backward")
compiled(fresh(8)).backward()
chapter("cached")
compiled(fresh(8, grad=False))
chapter("recompile")

if BACKEND != "inductor":

    def broken(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    torch.compile(broken, backend=BACKEND)(fresh(4, grad=False))
    chapter("graph break")

    def refuse(graph: object, inputs: object) -> None:
        raise RuntimeError("no backend today")

    try:
        torch.compile(lambda x: x + 3, backend=refuse)(fresh(2))
    except Exception as error:
        story["raised"] = type(error).__name__
    chapter("failing backend")

    nested = torch.compile(lambda x: x - 1, backend=BACKEND)
    compiling.on_compile_start(lambda: nested(fresh(3, grad=False)))
    torch.compile(lambda x: x + 5, backend=BACKEND)(fresh(5, grad=False))
    chapter("a callback that compiles")

    def angry(args: object) -> None:
        raise ValueError("of the callback")

    import logging

    logging.getLogger("eventide").addHandler(logging.NullHandler())
    compiling.on_compile_start(angry)
    story["result"] = float(torch.compile(lambda x: (x + 7).sum(), backend=BACKEND)(fresh(2, grad=False)))
    chapter("a callback that raises")

integrations.torch.uninstall()
torch.compile(lambda x: x + 9, backend="eager")(fresh(2))
chapter("uninstalled")
handler = torch._dynamo.callback.callback_handler
story["torch is as it was"] = (
    "install_callbacks" not in vars(handler)
    and type(torch._dynamo.utils._compilation_metrics).__module__ == "collections"
)
story["statistics"] = compiling.callback_handler.statistics()
sys.stdout.write(json.dumps(story, default=str) + "\n")
