"""What does a torch operator, or the call of a module, cost under our profilers, against torch's own means?

The operator adds one to 16 numbers. Under `eventide run` it is traced through torch's callbacks and recorded when
it ends; with `--torch shapes` through torch's own profiler, and importing its data is our harvest, against
`prof.events()`. `et.profile` uses the callbacks too, and for details a dispatch mode, which costs more and records
more: FLOPs by formula, modules of the backward, storages, errors. The module returns its argument, inside of another
module; the peer is two empty global hooks of torch.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import eventide as et
from benchmarks._harness import Missing, Options, Round, Row, compare, pinned

if TYPE_CHECKING:
    from collections.abc import Iterator


def rows(options: Options) -> Iterator[Row]:
    number = options.number(3_000)
    try:
        import torch
    except ImportError:
        missing = Missing("torch is not installed")
        yield compare("a torch operator, traced", "torch.profiler", lambda: 0.0, missing, options, bar=1.1)
        return
    called, _ = session(torch, number, shapes=False)
    with_shapes, harvest = session(torch, number, shapes=True)
    theirs, events = profiler(torch, number, shapes=False)
    shaped, _ = profiler(torch, number, shapes=True)
    against = f"torch.profiler {torch.__version__}"
    with pinned():
        what = "a torch operator under eventide run"
        yield compare(what, against, called, theirs, options, bar=1)
        yield compare(f"{what} --torch shapes", f"{against}, shapes", with_shapes, shaped, options, bar=1.1)
        yield compare("harvest of an operator", "prof.events()", harvest, events, options, bar=1)
        what = "a torch operator under et.profile"
        yield compare(what, against, profile(torch, number, shapes=False), theirs, options, bar=1)
        shapes = profile(torch, number, shapes=True)
        yield compare(f"{what}, shapes", f"{against}, shapes", shapes, shaped, options)
        ours, hooks = modules(torch, number)
        yield compare("the call of a torch module, traced", "two empty global hooks", ours, hooks, options, bar=1.5)


def loop(torch: Any, number: int) -> float:
    x = torch.ones(16)
    begin = time.perf_counter()
    for _ in range(number):
        x.add(1)
    return (time.perf_counter() - begin) / number * 1e9


def session(torch: Any, number: int, *, shapes: bool) -> tuple[Round, Round]:
    """An operator in the loop, and what it costs to bring it into the trace."""
    from eventide.integrations.torch._kineto import Wanted
    from eventide.integrations.torch._session import Session

    def measure(harvest: bool) -> float:
        recorder = et.Recorder()
        recorder.start()
        ours = Session(Wanted(shapes=shapes))
        cost = loop(torch, number)
        ours.close()
        recorder.close()
        return ours.account.harvest_ns / ours.account.operators if harvest else cost

    return lambda: measure(False), lambda: measure(True)


def profiler(torch: Any, number: int, *, shapes: bool) -> tuple[Round, Round]:
    def measure(harvest: bool) -> float:
        prof = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=shapes)
        prof.start()
        cost = loop(torch, number)
        begin = time.perf_counter()
        prof.stop()
        if not harvest:
            return cost
        count = len(prof.events())
        return (time.perf_counter() - begin) / count * 1e9

    return lambda: measure(False), lambda: measure(True)


def profile(torch: Any, number: int, *, shapes: bool) -> Round:
    def measure() -> float:
        with et.profile(report_input_shapes=shapes):
            return loop(torch, number)

    return measure


def modules(torch: Any, number: int) -> tuple[Round, Round]:
    """A call of a module under `eventide run`, and with torch's global hooks."""
    from eventide.integrations.torch._modules import TorchModules

    inside = 100
    net = torch.nn.Sequential(*(torch.nn.Identity() for _ in range(inside)))

    def calls() -> float:
        net(0)  # the first call looks up the names
        begin = time.perf_counter()
        for _ in range(max(number // inside, 1)):
            net(0)
        return (time.perf_counter() - begin) / max(number // inside, 1) / inside * 1e9

    def traced() -> float:
        with et.Recorder():
            modules_traced = TorchModules()
            cost = calls()
            modules_traced.close()
        return cost

    def hooked() -> float:
        hooks = torch.nn.modules.module
        handles = [
            hooks.register_module_forward_pre_hook(lambda *_: None),
            hooks.register_module_forward_hook(lambda *_: None, always_call=True),
        ]
        cost = calls()
        for handle in handles:
            handle.remove()
        return cost

    return traced, hooked
