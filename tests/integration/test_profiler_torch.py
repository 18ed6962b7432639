"""et.profile on torch: operators, modules, shapes, FLOPs, memory and steps of real modules."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from typing import Any

import pytest

import eventide as et
from tests.helpers import TIMEOUT

pytestmark = pytest.mark.heavy
torch: Any = pytest.importorskip("torch", reason="torch is not installed")


def make_net() -> Any:
    inner = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU())
    return torch.nn.Sequential(inner, torch.nn.Linear(16, 4))


def rows(prof, category) -> list[dict]:
    """Spans of one category, in order of their start, with their arguments as a dict."""
    spans = [row for row in prof.result.trace.spans.sort_by("start").to_pylist() if row["category"] == category]
    return [{**row, "args": json.loads(row["args"] or "{}")} for row in spans]


def test_operators_are_spans_with_shapes_and_types() -> None:
    net, x = make_net(), torch.ones(2, 8)
    with et.profile(net, record_shapes=True) as prof:
        net(x)
    ops = rows(prof, "op")
    addmm = [row for row in ops if row["name"] == "aten::addmm"]
    assert [row["args"]["Input Dims"] for row in addmm] == [
        [[16], [2, 8], [8, 16], [], []],  # with the two numbers that have defaults, as in torch
        [[4], [2, 16], [16, 4], [], []],
    ]
    assert addmm[0]["args"]["Input type"] == [*["float"] * 3, "Scalar", "Scalar"]
    assert "aten::relu" in {row["name"] for row in ops}
    assert "aten::addmm" in str(prof.result.table())
    prof.result.trace.check()


def test_without_a_module_operators_of_the_thread_are_traced_too() -> None:
    with et.profile() as prof:
        torch.ones(3) + 1
    names = [row["name"] for row in rows(prof, "op")]
    assert names[:4] == ["aten::ones", "aten::empty", "aten::fill_", "aten::add"]  # as torch nests them
    with et.profile() as prof:
        pass
    assert rows(prof, "op") == []


def test_the_module_hierarchy_is_spans_and_each_operator_names_its_module_backward_too() -> None:
    net, x = make_net(), torch.ones(2, 8)
    with et.profile(net, with_modules=True) as prof:
        net(x).sum().backward()
    modules = rows(prof, "module")
    assert [(row["name"], row["args"]["type"]) for row in modules] == [
        ("Sequential", "Sequential"),
        ("Sequential.0", "Sequential"),
        ("Sequential.0.0", "Linear"),
        ("Sequential.0.1", "ReLU"),
        ("Sequential.1", "Linear"),
    ]
    by_phase: dict[bool, list] = {False: [], True: []}
    for row in rows(prof, "op"):
        if row["name"] in {"aten::addmm", "aten::mm"}:
            by_phase["backward" in row["args"]].append(row["args"]["Module Hierarchy"])
    assert by_phase[False] == ["Sequential.0.0", "Sequential.1"]
    # The input needs no gradient: one product for the first layer, two for the last.
    assert by_phase[True] == ["Sequential.1", "Sequential.1", "Sequential.0.0"]
    outer = modules[0]
    for row in modules[1:]:
        assert outer["start"] <= row["start"]
        assert row["start"] + row["duration"] <= outer["start"] + outer["duration"]


def test_without_with_modules_only_the_module_itself_is_a_span() -> None:
    net = make_net()
    with et.profile(net) as prof:
        net(torch.ones(2, 8))
    assert [row["name"] for row in rows(prof, "module")] == ["Sequential"]
    assert not any("Module Hierarchy" in row["args"] for row in rows(prof, "op"))


def test_all_modules_are_traced_where_none_is_named() -> None:
    net = make_net()
    with et.profile(with_modules=True) as prof:
        net(torch.ones(2, 8))
    assert [row["name"] for row in rows(prof, "module")][:3] == ["Sequential", "Sequential.0", "Sequential.0.0"]


def flops_by_torch(act) -> int:
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        act()
    total: int = counter.get_total_flops()
    return total


@pytest.mark.parametrize("how", ["train", "no_grad", "inference_mode"])
def test_flops_are_those_of_torch_s_own_counter(how) -> None:
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 10))
    x = torch.ones(2, 3, 8, 8)

    def forward() -> None:
        with getattr(torch, how)():
            net(x)

    def act() -> None:
        if how == "train":
            net(x).sum().backward()
        else:
            forward()

    expected = flops_by_torch(act)
    with et.profile(net, with_flops=True, with_modules=True) as prof:
        act()
    reported = prof.result.profiler["flops"]
    assert reported["forward"] + reported["backward"] == expected > 0
    assert (reported["backward"] > 0) == (how == "train")
    assert sum(row["args"].get("flops", 0) for row in rows(prof, "op")) == expected
    assert sum(row.flops for row in prof.result.rows()) == expected
    assert sum(prof.result.profiler["flops_by_module"].values()) == expected


def test_stack_and_modules_together_give_both() -> None:
    net = make_net()
    with et.profile(net, with_stack=True, with_modules=True) as prof:
        net(torch.ones(2, 8))
    stacks = prof.result.trace.stacks["frames"].to_pylist()
    addmm = next(row for row in rows(prof, "op") if row["name"] == "aten::addmm")
    functions = [frame["function"] for frame in stacks[addmm["stack"]]]
    assert functions[0] == "Linear.forward"  # nothing of ours in front of it
    assert "test_stack_and_modules_together_give_both" in functions
    assert addmm["args"]["Module Hierarchy"] == "Sequential.0.0"


def test_memory_of_tensors_goes_up_and_down_again() -> None:
    with et.profile(profile_memory=True) as prof:
        kept = torch.empty(1000)
        view = kept.view(10, 100)
        torch.empty(500)
        del kept, view
    events = [json.loads(text) for text in prof.result.trace.instants["args"].to_pylist()]
    assert [(event["Bytes"], event["Total Allocated"]) for event in events] == [
        (4000, 4000),
        (2000, 6000),
        (-2000, 4000),
        (-4000, 0),
    ]
    assert prof.result.profiler["peak_memory"] == {"cpu:0": 6000}


def test_a_module_in_another_thread_is_traced() -> None:
    net = make_net()
    with et.profile(net) as prof:
        thread = threading.Thread(target=net, args=(torch.ones(2, 8),))
        thread.start()
        thread.join(TIMEOUT)
    (module,) = rows(prof, "module")
    addmm = [row for row in rows(prof, "op") if row["name"] == "aten::addmm"]
    assert len(addmm) == 2
    assert {row["track"] for row in addmm} == {module["track"]}


def test_steps_come_by_themselves_from_an_optimizer() -> None:
    net = make_net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    with et.profile(schedule=plan) as prof:
        for number in range(6):
            with et.span(f"batch {number}"):
                net(torch.ones(2, 8)).sum().backward()
            optimizer.step()
            if number % 2:
                prof.step()  # reports nothing new
    assert [row["name"] for row in rows(prof, "step")] == ["ProfilerStep#2", "ProfilerStep#3"]
    assert [row["name"] for row in rows(prof, "span")] == ["batch 2", "batch 3"]
    assert prof.step_num == 6


def test_the_module_is_held_weakly_and_has_no_hooks_afterwards() -> None:
    net = make_net()
    with et.profile(net, with_modules=True) as prof:
        net(torch.ones(2, 8))
    assert all(not module._forward_hooks and not module._forward_pre_hooks for module in net.modules())
    gone = weakref.ref(net)
    del net
    gc.collect()
    assert gone() is None
    assert prof.module is None


def test_an_operator_that_raises_is_recorded_and_the_profiler_is_off() -> None:
    net = make_net()
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"), et.profile(net) as prof:
        net(torch.ones(2, 9))
    failed = [row["name"] for row in rows(prof, "op") if row["outcome"] == "failed"]
    assert failed == ["aten::linear", "aten::addmm"]
    assert [row["name"] for row in rows(prof, "module")] == ["Sequential"]
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"), et.profile(net, record_shapes=True) as prof:
        net(torch.ones(2, 9))
    assert "shapes cannot be multiplied" in rows(prof, "op")[-1]["args"]["error"]
    with et.profile() as after:
        torch.empty(1)
    assert len(rows(after, "op")) == 1
    assert torch.ones(2).sum() == 2


def test_a_nested_profile_traces_the_same_operators_once() -> None:
    with et.profile() as outer, et.profile() as inner:
        torch.empty(3)
    assert [row["name"] for row in rows(inner, "op")] == ["aten::empty"]
    assert [row["name"] for row in rows(outer, "op")] == ["aten::empty"]


@pytest.mark.parametrize("first", [True, False])
def test_one_that_asks_for_details_and_one_that_does_not_hear_each_operator_once(first) -> None:
    with et.profile(record_shapes=first) as outer, et.profile(record_shapes=not first) as inner:
        torch.empty(3)
        thread = threading.Thread(target=lambda: torch.empty(5))
        thread.start()
        thread.join(TIMEOUT)
    for prof in (outer, inner):
        mine, other = rows(prof, "op")
        assert (mine["name"], other["name"]) == ("aten::empty", "aten::empty")
        assert "Input Dims" in mine["args"]
        assert other["args"] == {}  # of other threads no details are known
        assert mine["track"] != other["track"]


def test_a_profile_that_another_thread_ended_does_not_keep_this_one_from_being_traced() -> None:
    prof = et.profile(record_shapes=True)
    prof.start()
    thread = threading.Thread(target=prof.stop)
    thread.start()
    thread.join(TIMEOUT)
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None  # the main thread took it off itself
    with et.profile() as after:
        torch.empty(1)
    assert [row["name"] for row in rows(after, "op")] == ["aten::empty"]


def test_compiled_code_stays_compiled_and_its_compile_is_a_span() -> None:
    torch._dynamo.reset()
    calls: list = []

    def backend(graph, inputs):
        calls.append(graph)
        return graph.forward

    def doubled(x):
        return x * 2

    with et.profile(with_modules=True) as prof:
        compiled = torch.compile(doubled, backend=backend)
        assert compiled(torch.ones(3)).tolist() == [2, 2, 2]
    assert len(calls) == 1
    (compile_,) = rows(prof, "compile")
    assert compile_["name"] == "doubled"
    assert compile_["args"]["trigger"] == "DYNAMO"


def test_torch_s_own_profiler_beside_ours_is_not_disturbed() -> None:
    with torch.profiler.profile() as theirs, et.profile() as prof:
        torch.ones(3) + 1
    assert "aten::add" in {event.key for event in theirs.key_averages()}
    assert "aten::add" in {row["name"] for row in rows(prof, "op")}
