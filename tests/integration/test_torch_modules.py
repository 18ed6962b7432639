"""The patch of nn.Module.__call__: beside other patches and hooks, what it keeps alive, and what remains after it."""

from __future__ import annotations

import gc
import os
import traceback
import weakref
from dataclasses import dataclass
from typing import Any

import pytest

import eventide as et

pytestmark = pytest.mark.heavy
torch: Any = pytest.importorskip("torch", reason="torch is not installed")

from eventide.integrations.torch import _modules as traced  # noqa: E402
from eventide.integrations.torch import install, uninstall  # noqa: E402 - only where torch is
from eventide.integrations.torch._modules import TorchModules  # noqa: E402
from eventide.integrations.torch._run import TorchRun  # noqa: E402

nn = torch.nn
OWN = nn.Module.__call__


@pytest.fixture(autouse=True)
def torch_is_as_it_was():
    yield
    left = nn.Module.__call__
    nn.Module.__call__ = OWN
    assert left is OWN


@pytest.fixture
def listening():
    listener = TorchModules()
    yield listener
    listener.close()


def names(recorder: et.Recorder) -> list[str]:
    rows = recorder.trace.spans.sort_by("start").to_pylist()
    return [row["name"] for row in rows if row["category"] == "module"]


def make_net() -> Any:
    return nn.Sequential(nn.Sequential(nn.Identity()), nn.Identity())


NET = ["Sequential", "Sequential.0", "Sequential.0.0", "Sequential.1"]


def test_closing_puts_back_torch_s_own_function():
    listener = TorchModules()
    assert nn.Module.__call__ is not OWN
    assert (nn.Module.__call__.__name__, nn.Module.__call__.__wrapped__) == (OWN.__name__, OWN)
    listener.close()
    listener.close()
    assert nn.Module.__call__ is OWN


def test_it_is_put_back_when_the_last_one_closes_in_any_order():
    first, second = TorchModules(), TorchModules()
    with et.Recorder() as recorder:
        make_net()(1)
        first.close()
        make_net()(1)
    assert names(recorder) == NET * 2
    second.close()


def test_what_the_program_put_in_our_place_stays_there_and_is_traced_once_again_later():
    calls = []
    listener = TorchModules()
    ours = nn.Module.__call__

    def theirs(self: Any, *args: Any) -> Any:
        calls.append(type(self).__name__)
        return ours(self, *args)

    nn.Module.__call__ = theirs
    listener.close()
    assert nn.Module.__call__ is theirs
    with et.Recorder() as recorder:
        nn.Identity()(1)  # not traced
        listener = TorchModules()
        nn.Tanh()(torch.ones(1))
        listener.close()
        assert nn.Module.__call__ is theirs
        nn.Module.__call__ = OWN
        listener = TorchModules()
        nn.Sigmoid()(torch.ones(1))
        listener.close()
    assert calls == ["Identity", "Tanh"]
    assert names(recorder) == ["Tanh", "Sigmoid"]


def test_what_stood_there_before_us_is_called_and_comes_back():
    calls = []

    def theirs(self: Any, *args: Any) -> Any:
        calls.append(type(self).__name__)
        return OWN(self, *args)

    nn.Module.__call__ = theirs
    with et.Recorder() as recorder:
        listener = TorchModules()
        nn.Identity()(1)
        listener.close()
    assert nn.Module.__call__ is theirs
    nn.Module.__call__ = OWN
    assert (calls, names(recorder)) == (["Identity"], ["Identity"])


def test_a_profile_of_one_module_inside_of_a_run_makes_each_forward_one_span(listening):
    net = make_net()
    outer = nn.Sequential(net)
    with et.Recorder() as recorder:
        with et.profile(net, with_modules=True) as prof:
            outer(torch.ones(1))
        outer(torch.ones(1))
    inside = [
        row["name"] for row in prof.result.trace.spans.sort_by("start").to_pylist() if row["category"] == "module"
    ]
    assert inside == ["Sequential", *NET]  # as the one calls them that was given
    assert names(recorder) == ["Sequential", *NET, "Sequential", *(f"Sequential.0{name[10:]}" for name in NET)]


def test_a_profile_counts_flops_by_the_modules_it_asked_for_in_a_run_too(listening):
    net = nn.Sequential(nn.Linear(4, 4))
    with et.profile(net, with_flops=True) as prof:
        net(torch.ones(2, 4))
    assert list(prof.result.profiler["flops_by_module"]) == ["Sequential"]


def test_no_module_is_kept_alive(listening):
    with et.Recorder():
        net = make_net()
        net(1)
        assert id(net) in traced._paths._known
        gone = [weakref.ref(one) for one in net.modules()]
        key = id(net)
        del net
        gc.collect()
    assert [ref() for ref in gone] == [None] * 4
    assert key not in traced._paths._known


def test_a_tree_is_walked_once_for_all_forwards_and_once_a_forward_for_strangers(listening, monkeypatch):
    walks = []
    walk = traced._paths.walk

    def counted(parent: Any) -> None:
        walks.append(parent)
        walk(parent)

    monkeypatch.setattr(traced._paths, "walk", counted)

    class Counted(nn.Module):  # type: ignore[misc]  # torch has no types here
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Identity() for _ in range(50))

        def forward(self, others: list[Any]) -> None:
            for layer in (*self.layers, *others):
                layer(1)

    net = Counted()
    with et.Recorder() as recorder:
        for _ in range(3):
            net([])
        assert len(walks) == 1
        net([nn.Identity(), nn.Identity()])
        assert len(walks) == 2
    assert names(recorder)[-3:] == ["Counted.layers.49", "Identity", "Identity"]


def test_modules_that_compare_and_hash_in_their_own_way_are_traced(listening):
    class Equal(nn.Module):  # type: ignore[misc]  # as above
        __hash__ = None  # type: ignore[assignment]  # what we try

        def __eq__(self, other: object) -> bool:
            return True

        def __len__(self) -> int:
            return 0

        def forward(self, x: Any) -> Any:
            return x

    class Net(nn.Module):  # type: ignore[misc]  # as above
        def __init__(self) -> None:
            super().__init__()
            self.__dict__["_modules"] |= {"a": Equal(), "b": Equal()}

        def forward(self, x: Any) -> Any:
            return self.b(self.a(x))

    with et.Recorder() as recorder:
        assert Net()(3) == 3
    assert names(recorder) == ["Net", "Net.a", "Net.b"]


def test_a_mistake_of_ours_is_logged_once_and_does_not_reach_the_program(listening, monkeypatch, caplog):
    monkeypatch.delattr(traced._local, "failed", raising=False)

    def refuse(*_: Any) -> None:
        raise RuntimeError("ours")

    with et.Recorder() as recorder:
        with monkeypatch.context() as broken:
            broken.setattr(traced._paths, "known", refuse)
            assert make_net()(3) == 3
        make_net()(3)
    assert names(recorder) == ["Sequential", *NET]
    (record,) = caplog.records
    assert record.message == "a forward of Sequential was not recorded, the program continues"


def test_ctrl_c_inside_of_a_forward_passes_and_later_names_are_right(listening):
    class Interrupted(nn.Module):  # type: ignore[misc]  # as above
        def forward(self, x: Any) -> None:
            raise KeyboardInterrupt

    with et.Recorder() as recorder:
        with pytest.raises(KeyboardInterrupt) as caught:
            nn.Sequential(Interrupted())(1)
        make_net()(1)
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)].count("call") == 0
    assert names(recorder)[-4:] == NET


def test_a_frozen_exception_passes(listening):
    @dataclass(frozen=True)
    class Frozen(Exception):
        what: int

    class Raises(nn.Module):  # type: ignore[misc]  # as above
        def forward(self) -> None:
            raise Frozen(3)

    with pytest.raises(Frozen) as caught:
        Raises()()
    assert caught.value.what == 3


def test_stacks_do_not_show_that_we_stand_there(listening):
    class Net(nn.Module):  # type: ignore[misc]  # as above
        def forward(self) -> int:
            return et._native.capture_stack()

    functions = [function for _, _, function in et._native.resolve_stack(Net()())]
    here = "test_stacks_do_not_show_that_we_stand_there"
    assert functions[0] == f"{here}.<locals>.Net.forward"
    assert functions[1:4] == ["Module._call_impl", "Module._wrapped_call_impl", here]


def test_a_forked_child_has_torch_s_own_function_and_can_listen_anew(listening):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            own = nn.Module.__call__ is OWN
            with et.Recorder() as recorder:
                nn.Tanh()(torch.ones(1))
                again = TorchModules()
                nn.Identity()(1)
                again.close()
            code = 0 if own and names(recorder) == ["Identity"] and nn.Module.__call__ is OWN else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert nn.Module.__call__ is not OWN


@pytest.mark.parametrize("installed_first", [True, False])  # the two import hooks of torch may run in either order
def test_a_torch_that_cannot_skip_our_wrapper_is_one_line_and_the_rest_is_traced(monkeypatch, caplog, installed_first):
    if installed_first:
        install()
    monkeypatch.delattr(torch._C._dynamo.eval_frame, "set_code_exec_strategy")
    with et.Recorder() as recorder:
        run = TorchRun(("ops", "modules"), 0.0)
        nn.Linear(2, 2)(torch.ones(1, 2))
        run.close()
    uninstall()
    (line,) = recorder.trace.metadata["warnings"]
    assert line.startswith(f"torch {torch.__version__}: its modules are not traced: AttributeError")
    assert [record.message for record in caplog.records] == [line]
    assert names(recorder) == []
    assert "aten::linear" in {row["name"] for row in recorder.trace.spans.to_pylist()}
