"""What et.profile writes of torch is named as in torch's own files: annotations, inputs, modules, memory."""

from __future__ import annotations

import inspect
import json
import warnings
from collections import Counter
from typing import Any

import pytest

import eventide as et

pytestmark = pytest.mark.heavy
torch: Any = pytest.importorskip("torch", reason="torch is not installed")

KEYS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")


def operators(trace: et.Trace) -> list[tuple[str, dict[str, Any]]]:
    rows = trace.spans.sort_by("start").to_pylist()
    return [(row["name"], json.loads(row["args"] or "{}")) for row in rows if row["category"] == "op"]


def test_every_option_of_torch_s_profiler_is_accepted() -> None:
    assert set(inspect.signature(torch.profiler.profile).parameters) <= set(inspect.signature(et.profile).parameters)


@pytest.mark.parametrize("option", ["record_shapes", "with_stack", "with_flops", "profile_memory", "with_modules"])
def test_record_function_keeps_its_name_with_every_option(option) -> None:
    with et.profile(**{option: True}) as prof:
        with torch.profiler.record_function("my part"):
            torch.ones(2) + 1
        with torch.autograd.profiler.record_function("with arguments", "some"):
            torch.ones(2)
    names = Counter(prof.result.trace.spans["name"].to_pylist())
    assert (names["my part"], names["with arguments"]) == (1, 1)
    assert not [name for name in names if "_record_function_" in name]
    (row,) = [row for row in prof.result.rows() if row.name == "my part"]
    assert (row.category, row.total > row.self_time) == ("annotation", True)


def exercise() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())
    with torch.no_grad():
        net(torch.randn(4, 8))
        torch.cat([torch.ones(2, dtype=torch.int64), torch.zeros(2, dtype=torch.int64)])
        torch.ones(3, dtype=torch.bfloat16).neg().to(torch.complex64)
        torch.ones(2, dtype=torch.bool).logical_or(torch.ones(2, dtype=torch.uint8))
        torch.ones(3, 4)[:, ::2].sum([0])
        torch.nn.functional.embedding(torch.tensor([1]), torch.ones(3, 3))


def test_inputs_are_those_that_torch_profiler_writes(tmp_path) -> None:
    exercise()  # what torch does once
    with torch.profiler.profile(record_shapes=True) as theirs:
        exercise()
    theirs.export_chrome_trace(str(tmp_path / "theirs.json"))
    events = json.loads((tmp_path / "theirs.json").read_text("utf-8"))["traceEvents"]
    known = Counter(
        (event["name"], json.dumps([event["args"].get(key) for key in KEYS]))
        for event in events
        if event.get("cat") == "cpu_op"
    )
    with et.profile(record_shapes=True) as prof:
        exercise()
    prof.export_chrome_trace(tmp_path / "ours.json")
    events = json.loads((tmp_path / "ours.json").read_text("utf-8"))["traceEvents"]
    ours = [
        (event["name"], json.dumps([event["args"].get(key) for key in KEYS]))
        for event in events
        if event.get("cat") == "cpu_op" and "args" in event  # composite operators have none
    ]
    assert len(ours) >= 15
    assert [row for row in ours if row not in known] == []


def test_operators_have_indices_in_the_order_of_their_ends() -> None:
    with et.profile(record_shapes=True) as prof:
        exercise()
    indices = [about["Ev Idx"] for _, about in operators(prof.result.trace) if about]
    assert indices == list(range(len(indices)))
    assert len(indices) >= 15


def test_nested_tensors_are_recorded_with_their_shapes(caplog) -> None:
    with et.profile(record_shapes=True) as prof:
        with warnings.catch_warnings(action="ignore"):  # that they are a prototype: once in a process
            old = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(3, 3)])
        old * 2
        new = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(3, 3)], layout=torch.jagged)
        new * 2
    assert caplog.records == []
    products = [about for name, about in operators(prof.result.trace) if name == "aten::mul"]
    assert products
    assert products[0]["Input Dims"][0] == []  # it has none; torch writes the same
    jagged = [about for _, about in operators(prof.result.trace) if [2, -1, 3] in about.get("Input Dims", [])]
    assert jagged
    prof.result.trace.check()


def test_operators_name_their_module_as_in_torch_s_files() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(8, 4))
    with et.profile(net, with_modules=True) as prof:
        net(torch.ones(2, 8))
    (product,) = [about for name, about in operators(prof.result.trace) if name == "aten::addmm"]
    assert product["Module Hierarchy"] == "Sequential.0"


def test_memory_columns_agree_with_those_of_torch() -> None:
    def work() -> None:
        with torch.profiler.record_function("part"):
            kept = torch.empty(1000)
            (kept + 1).sum()

    work()
    with torch.profiler.profile(profile_memory=True) as theirs:
        work()
    expected = {row.key: row.cpu_memory_usage for row in theirs.key_averages()}
    with et.profile(profile_memory=True) as prof:
        work()
    rows = {row.name: row for row in prof.result.rows()}
    assert rows["aten::empty"].memory == expected["aten::empty"] == 4000
    assert rows["aten::add"].memory == expected["aten::add"] == 4000
    assert rows["part"].memory == expected["part"]
    assert "self mem" in str(prof.result.table())


def test_views_and_operators_in_place_allocate_nothing() -> None:
    weights = torch.ones(8, 8)
    with et.profile(profile_memory=True) as prof:
        weights.t().add_(1)
        torch.split(weights, 4)
        torch.mul(weights, 2, out=weights)
    assert {row.name: row.memory for row in prof.result.rows() if row.memory} == {}
    assert prof.result.profiler["peak_memory"] == {}


def test_handles_of_a_backend_resolve_to_submodules_of_torch() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())
    now = 0
    with et.profiler.register_debug_handles({1: "0", 2: net[1]}, module=net), et.profile() as prof:
        import time

        now = time.time_ns() // 1000  # Unix time, as torch passes it
        for handle in (1, 2):
            prof.record_backend_event(now, now + 1, handle, f"op {handle}", "npu")
    spans = [row for row in prof.result.trace.spans.to_pylist() if row["category"] == "backend"]
    assert [json.loads(row["args"])["Module Hierarchy"] for row in spans] == ["Sequential.0", "Sequential.1"]


def test_collection_of_operators_can_be_switched_off_and_on_again() -> None:
    for options in ({}, {"record_shapes": True, "profile_memory": True, "with_flops": True}):
        with et.profile(**options) as prof:
            torch.ones(2).neg()
            prof.toggle_collection_dynamic(False, [torch.profiler.ProfilerActivity.CPU])
            torch.ones(2).exp()
            with et.span("seen"):
                torch.ones(2, 2) @ torch.ones(2, 2)
            prof.toggle_collection_dynamic(True, [torch.profiler.ProfilerActivity.CPU])
            torch.ones(2).sin()
        names = set(prof.result.trace.spans["name"].to_pylist())
        assert {"aten::neg", "aten::sin", "seen"} <= names
        assert not {"aten::exp", "aten::mm"} & names
        if options:
            assert prof.result.profiler["flops"] == {"forward": 0, "backward": 0}
            assert prof.result.profiler["peak_memory"]["cpu:0"] >= 8
    with et.profile() as prof:
        prof.toggle_collection_dynamic(False, ["CPU"])
        torch.ones(2).neg()
    assert "aten::neg" not in set(prof.result.trace.spans["name"].to_pylist())
    with et.profile() as prof:
        torch.ones(2).neg()
    assert "aten::neg" in set(prof.result.trace.spans["name"].to_pylist())


@pytest.mark.parametrize("options", [{}, {"record_shapes": True}, {"with_stack": True, "profile_memory": True}])
def test_rows_of_key_averages_have_torch_s_names_and_counts(options) -> None:
    """Composite operators, and those inside of others, too."""
    net = torch.nn.Linear(4, 4)

    def work() -> None:
        (torch.ones(4, 4) @ torch.ones(4, 4)).relu()
        net(torch.ones(2, 4)).reshape(4, 2).contiguous().to(torch.float64) + 1

    work()
    with torch.profiler.profile(record_shapes=True) as theirs:
        work()
    with et.profile(**options) as prof:
        work()
    expected = {row.key: row.count for row in theirs.key_averages()}
    ours = {row.key: row.count for row in prof.key_averages() if row.key != "[memory]"}
    assert ours == expected
    assert hidden(prof.key_averages()[0], theirs.key_averages()[0], ROW) == []
    assert hidden(prof.events()[0], theirs.events()[0], EVENT) == []


ROW = "key count cpu_time cpu_time_total self_cpu_time_total device_time_total self_device_time_total flops stack"
ROW += " cpu_memory_usage self_cpu_memory_usage device_memory_usage input_shapes device_type is_user_annotation"
EVENT = (
    "id name thread time_range cpu_time_total device_time_total cpu_parent cpu_children input_shapes stack count key"
)


def hidden(ours: object, theirs: object, names: str) -> list[str]:
    """Attributes that one of the two lacks."""
    return [name for name in names.split() if not (hasattr(ours, name) and hasattr(theirs, name))]
