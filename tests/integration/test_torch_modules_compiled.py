"""Modules that are traced while torch.compile is active: it compiles the same, once, and warns of nothing."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

import eventide as et

pytestmark = pytest.mark.heavy
torch: Any = pytest.importorskip("torch", reason="torch is not installed")

from eventide.integrations.torch._modules import TorchModules  # noqa: E402 - only where torch is

nn = torch.nn
OWN = nn.Module.__call__


@pytest.fixture(autouse=True)
def anew():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def modules(trace: et.Trace) -> list[tuple[str, dict[str, Any]]]:
    rows = [row for row in trace.spans.sort_by("start").to_pylist() if row["category"] == "module"]
    return [(row["name"], json.loads(row["args"])) for row in rows]


def count_compiles(act: Any) -> int:
    graphs = torch._dynamo.utils.counters["stats"]
    before = graphs["unique_graphs"]
    act()
    return int(graphs["unique_graphs"] - before)


def test_what_was_compiled_before_between_and_after_is_not_compiled_again():
    net, x = nn.Sequential(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.Linear(4, 4)), torch.ones(2, 4)

    class Net(nn.Module):  # type: ignore[misc]  # as above
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, x: Any) -> Any:
            return self.net(x)

    def called(x: Any) -> Any:
        return module(x)

    module = Net()
    early = torch.compile(module, backend="eager", fullgraph=True)
    assert count_compiles(lambda: early(x)) == 1
    with et.Recorder() as recorder:
        listener = TorchModules()
        assert count_compiles(lambda: early(x)) == 0
        late = torch.compile(called, backend="eager", fullgraph=True)
        inside = torch.compile(module, backend="eager", fullgraph=True)
        assert count_compiles(lambda: (late(x), inside(x))) == 1  # the code of `inside` is that of `early`
        listener.close()
        assert count_compiles(lambda: (early(x), late(x), inside(x))) == 0
    assert modules(recorder.trace) == [("Net", {"type": "Net", "compiled": True})] * 2
    for place in ("torch._dynamo.utils", "torch._dynamo.variables.nn_module"):
        assert sys.modules[place].unpatched_nn_module_call is OWN


@pytest.mark.parametrize("named", [False, True])
def test_et_profile_brings_no_warning_and_a_compiled_module_is_one_span(recwarn, named):
    net = torch.compile(nn.Sequential(nn.Identity(), nn.Tanh()), backend="eager", fullgraph=True)
    with et.profile(net if named else None, with_modules=True) as prof:
        net(torch.ones(2))
    assert [str(warning.message) for warning in recwarn if "global hooks" in str(warning.message)] == []
    name = "OptimizedModule" if named else "Sequential"
    assert modules(prof.result.trace) == [(name, {"type": "Sequential", "compiled": True})]
