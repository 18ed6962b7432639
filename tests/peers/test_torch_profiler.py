"""torch's tests of its profiler on annotations, schedules, export and tables, on et.profile with the real torch."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections import Counter
from typing import Any

import pytest

import eventide as et
from tests.peers.ported import ported

pytestmark = pytest.mark.heavy
torch: Any = pytest.importorskip("torch", reason="torch is not installed")

FILE, EDGE = "profiler/test_profiler.py", "test_mobile_profiler.cpp"
NONE, WARMUP, RECORD, SAVE = et.profiler.ProfilerAction


def written(prof: et.profile, path: Any) -> list[dict[str, Any]]:
    prof.export_chrome_trace(path)
    events: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["traceEvents"]
    return events


def payload(size: int = 10) -> Any:
    x, y = torch.randn(size, size), torch.randn(size, size)
    return torch.mm(x, y) + y


@ported(FILE, "test_user_annotation")
def test_only_annotations_are_user_annotations():
    with et.profile() as prof, torch.profiler.record_function("mine"):
        payload()
    assert {row.key for row in prof.key_averages() if row.is_user_annotation} == {"mine"}


@ported(FILE, "test_schedule_function_count")
def test_schedules_record_the_steps_that_they_name():
    def count(warmup: int, active: int, repeat: int) -> tuple[int, int]:
        plan = et.profiler.schedule(wait=0, warmup=warmup, active=active, repeat=repeat)
        with et.profile(schedule=plan) as prof:
            for _ in range(20):
                torch.add(1, 2)
                prof.step()
        counts = [sum(row.count for row in one.key_averages() if row.key == "aten::add") for one in prof.results]
        return sum(counts), counts[-1]

    assert count(0, 1, 1) == (1, 1)
    assert count(0, 5, 0)[0] == 20
    assert count(1, 3, 0)[0] == 15
    assert count(2, 2, 4) == (8, 2)
    assert count(10, 1, 0)[0] == 1


@ported(FILE, "test_skip_first_wait", "test_kineto_profiler_api")
def test_actions_of_schedules_step_by_step():
    plan = et.profiler.schedule(skip_first=3, wait=5, warmup=1, active=2, repeat=2, skip_first_wait=1)
    cycle = [WARMUP, RECORD, SAVE]
    assert [plan(step) for step in range(18)] == [*[NONE] * 3, *cycle, *[NONE] * 5, *cycle, *[NONE] * 4]
    plan = et.profiler.schedule(skip_first=3, wait=2, warmup=1, active=4, repeat=2)
    cycle = [NONE, NONE, WARMUP, RECORD, RECORD, RECORD, SAVE]
    assert [plan(step) for step in range(21)] == [*[NONE] * 3, *cycle, *cycle, *[NONE] * 4]
    called = []
    plan = et.profiler.schedule(wait=1, warmup=1, active=2)
    with et.profile(schedule=plan, on_trace_ready=lambda prof: called.append(str(prof.key_averages().table()))) as prof:
        for _ in range(8):
            payload(3)
            prof.step()
    assert len(called) == 2
    assert all("aten::mm" in text for text in called)


@ported(FILE, "test_kineto_profiler_multiple_steppers")
def test_an_optimizer_and_the_program_step_once_together():
    net = torch.nn.Linear(10, 5)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    with et.profile(schedule=et.profiler.schedule(wait=1, warmup=1, active=2)) as prof:
        for _ in range(8):
            net(torch.rand(10)).sum().backward()
            optimizer.step()
            prof.step()
    assert prof.step_num == 8
    assert len(prof.results) == 2


@ported(FILE, "test_export_stacks")
def test_exported_stacks_end_in_positive_integers(tmp_path):
    with et.profile(with_stack=True) as prof:
        for _ in range(20):
            payload(64)
    prof.export_stacks(tmp_path / "stacks.txt")
    lines = (tmp_path / "stacks.txt").read_text("utf-8").splitlines()
    assert lines
    assert all(int(line.rpartition(" ")[2]) > 0 for line in lines)


@ported(FILE, "test_export_chrome_trace_escapes_names", "test_profiler_trace_sanitizes_python_function_names")
def test_names_are_in_the_file_as_they_are(tmp_path):
    tricky = 'aten::mm C:\\src\\"foo".cpp'
    with et.profile(with_stack=True) as prof, torch.profiler.record_function(tricky), et.span(f"span {tricky}"):
        payload()
    names = {event.get("name") for event in written(prof, tmp_path / "t.json")}
    assert {tricky, f"span {tricky}"} <= names


@ported(FILE, "test_profiler_metadata")
def test_added_metadata_is_a_member_of_the_file(tmp_path):
    with et.profile() as prof:
        torch.add(1, 2)
        prof.add_metadata("test_key1", "test_value1")
        prof.add_metadata_json("test_key2", "[1,2,3]")
    prof.export_chrome_trace(tmp_path / "t.json")
    document = json.loads((tmp_path / "t.json").read_text("utf-8"))
    assert (document["test_key1"], document["test_key2"]) == ("test_value1", [1, 2, 3])


@ported(FILE, "test_profiler_op_event_args", "test_profiler_strides", "test_profiler_strides_without_concrete_inputs")
@ported(FILE, "test_concrete_inputs_profiling")
def test_the_arguments_of_operators_are_in_the_file(tmp_path):
    base = torch.randn(1024)
    a, b = base.as_strided((16, 16), (17, 1), 0), base.as_strided((16, 16), (25, 2), 272)
    with et.profile(record_shapes=True) as prof:
        ones = torch.ones((64, 32), dtype=torch.float32)
        torch.cat([ones, ones]).sin()
        torch.add(a, b)
        torch.rand(2, 6).as_strided([4, 3], [1, 4])
    args = {
        event["name"]: event["args"]
        for event in written(prof, tmp_path / "t.json")
        if event.get("cat") == "cpu_op" and "args" in event
    }
    assert args["aten::ones"]["Input type"] == ["ScalarList", "Scalar", "", "", "Scalar"]
    assert args["aten::ones"]["Concrete Inputs"] == ["[64, 32]", "6", "", "", "False"]
    assert args["aten::cat"]["Input Dims"] == [[[64, 32], [64, 32]], []]
    assert args["aten::cat"]["Input type"] == ["TensorList", "Scalar"]
    assert args["aten::add"]["Input Strides"] == [[17, 1], [25, 2], []]
    strided = args["aten::as_strided"]
    assert (strided["Input Dims"][0], strided["Concrete Inputs"][1:3]) == ([2, 6], ["[4, 3]", "[1, 4]"])


@ported(FILE, "test_expose_kineto_event_metadata")
def test_operators_with_details_have_an_index(tmp_path):
    with et.profile(record_shapes=True) as prof:
        torch.add(torch.ones(1), 5)
    events = [event for event in written(prof, tmp_path / "t.json") if event.get("name") == "aten::add"]
    assert all("Ev Idx" in event["args"] for event in events)
    assert all("Ev Idx" in event.args for event in prof.events() if event.name == "aten::add")


@ported(FILE, "test_nested_tensor_with_shapes")
def test_an_operator_on_a_nested_tensor_is_recorded_with_the_shapes_that_it_has():
    with warnings.catch_warnings(action="ignore"):  # that they are a prototype: once in a process
        nested = torch.nested.nested_tensor([torch.randn(4, 4), torch.randn(4, 4)])
    weight = torch.randn(4, 4)
    with et.profile(record_shapes=True) as prof:
        torch.nn.functional.linear(nested, weight, None)
    events = prof.events()
    assert (events[0].name, events[0].input_shapes) == ("aten::linear", [[], [4, 4], []])
    assert {"aten::matmul", "aten::addmm", "aten::mm", "aten::bmm"} & {event.name for event in events[1:]}


@ported(FILE, "test_profiler_fwd_bwd_link")
def test_gradients_are_linked_to_their_operators(tmp_path):
    with et.profile() as prof:
        a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
        torch.nn.functional.binary_cross_entropy_with_logits(torch.add(a, b), torch.ones(1)).backward()
    events = written(prof, tmp_path / "t.json")
    at = {event["ts"]: event["name"] for event in events if event["ph"] == "X"}
    starts = [at[event["ts"]] for event in events if event["ph"] == "s" and event["name"] == "fwdbwd"]
    assert sorted(starts) == ["aten::add", "aten::binary_cross_entropy_with_logits"]


@ported(FILE, "test_profiler_tracing", "test_basic_chrome_trace", "test_profiler", "test_kineto")
def test_a_trace_and_an_empty_trace_are_valid_json_within_the_window(tmp_path):
    with et.profile(with_stack=True) as prof:
        payload()
    events = written(prof, tmp_path / "t.json")
    first, last = (time / 1000 for time in prof.result.profiler["window"])
    timed = [event for event in events if event["ph"] == "X"]
    assert all(first <= event["ts"] and event["ts"] + event["dur"] <= last + 0.001 for event in timed)
    assert "aten::mm" in {event["name"] for event in timed}
    assert "aten::mm" in str(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=-1))
    with et.profile() as prof:
        pass
    assert [event for event in written(prof, tmp_path / "empty.json") if event["ph"] == "X"] == []


@ported(FILE, "test_event_list", "test_lazy_build_tree")
def test_events_have_a_table_and_a_tree():
    x = torch.rand((4, 4), requires_grad=True)
    with et.profile(with_stack=True) as prof:
        (x @ x).relu().sum().backward()
    assert len(prof.events()) > 0
    outer = [event for event in prof.events() if event.cpu_children]
    assert all(child.cpu_parent is event for event in outer for child in event.cpu_children)
    assert str(prof.key_averages().table())


@ported(FILE, "test_dynamic_toggle")
def test_operators_switched_off_are_not_recorded():
    with et.profile() as prof:
        prof.toggle_collection_dynamic(False, [torch.profiler.ProfilerActivity.CPU])
        torch.add(torch.rand(4), 1)
    assert not any("aten" in event.name for event in prof.events())


@ported(FILE, "test_forked_process")
def test_a_forked_child_profiles_itself(tmp_path):
    with et.profile():
        payload()
    pid = os.fork()
    if pid == 0:
        try:
            with et.profile() as prof:
                payload()
            events = [event for event in written(prof, tmp_path / "child.json") if event.get("cat") == "cpu_op"]
            (tmp_path / "pids").write_text(json.dumps(sorted({event["pid"] for event in events})), "utf-8")
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert json.loads((tmp_path / "pids").read_text("utf-8")) == [pid]


@ported(FILE, "test_memory_profiler")
def test_memory_of_operators_and_annotations_goes_up_and_down(tmp_path):
    with et.profile(profile_memory=True, record_shapes=True) as prof:
        with torch.profiler.record_function("alloc"):
            x = torch.rand(10, 10)
        with torch.profiler.record_function("dealloc"):
            del x
        y = torch.rand(10, 10)
        del y
    rows = {row.key: row.cpu_memory_usage for row in prof.key_averages(group_by_input_shape=True)}
    assert (rows["alloc"], rows["dealloc"], rows["[memory]"]) == (400, -400, -400)
    assert rows["aten::rand"] > 0
    memory = [event for event in written(prof, tmp_path / "t.json") if event["name"] == "[memory]"]
    assert memory
    for event in memory:
        assert {"Addr", "Device Type", "Device Id", "Bytes"} <= set(event["args"])
        assert "dur" not in event


@ported(FILE, "test_flops")
def test_the_table_has_flops_also_with_a_nested_tensor():
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU())
    nested = torch.nested.nested_tensor([torch.randn(2, 5), torch.randn(3, 5)], layout=torch.jagged)
    with et.profile(record_shapes=True, with_flops=True) as prof:
        net(torch.randn(2, 3, 8, 8))
        nested + nested
    text = str(prof.key_averages(group_by_input_shape=True).table(sort_by="cpu_time_total", row_limit=10))
    assert "flops" in text.splitlines()[0]
    assert sum(row.flops for row in prof.key_averages()) == 2 * 2 * 8 * 36 * 27


@ported(FILE, "test_high_level_trace")
def test_optimizers_and_data_loaders_are_annotations():
    net = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
    loader = torch.utils.data.DataLoader(torch.randn(8, 4), batch_size=1)
    with et.profile() as prof:
        for x in loader:
            optimizer.zero_grad()
            net(x).sum().backward()
            optimizer.step()
    names = Counter(event.name for event in prof.events())
    assert names["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"] == 9
    assert (names["Optimizer.step#SGD.step"], names["Optimizer.zero_grad#SGD.zero_grad"]) == (8, 8)


@ported(FILE, "test_source")
def test_operators_have_the_stack_of_the_program():
    with et.profile(with_stack=True) as prof:
        torch.ones(3).add(1)
    (event,) = [event for event in prof.events() if event.name == "aten::add"]
    assert re.search(r"test_torch_profiler\.py\(\d+\): test_operators_have_the_stack", event.stack[0])


class A(torch.nn.Module):  # type: ignore[misc, name-defined]  # torch is not installed where types are checked
    def forward(self, x: Any, y: Any) -> Any:
        return x * 3 + (y - 2)


class B(torch.nn.Module):  # type: ignore[misc, name-defined]  # as above
    def forward(self, x: Any) -> Any:
        return x + 2


class C(torch.nn.Module):  # type: ignore[misc, name-defined]  # as above
    def __init__(self) -> None:
        super().__init__()
        self.A0 = A()
        self.B0 = B()

    def forward(self, x: Any, y: Any) -> Any:
        return self.A0(x, y) + self.B0(x)


@ported(FILE, "test_module_hierarchy")
@ported(EDGE, "ModuleHierarchy")
def test_operators_name_the_module_that_ran_them(tmp_path):
    net, path = C(), tmp_path / "t.json"
    # module, file, shapes, memory, stack, flops, modules: the order of torch's edge profiler
    with et.profile(net, path, False, False, True, False, True):
        net(torch.rand(4, 4), torch.rand(4, 4))
    events = json.loads(path.read_text("utf-8"))["traceEvents"]
    found = {
        (event["name"], event["args"].get("Module Hierarchy"))
        for event in events
        if event.get("cat") == "cpu_op" and "args" in event
    }
    assert {("aten::sub", "C.A0"), ("aten::mul", "C.A0"), ("aten::add", "C.A0")} <= found
    assert {("aten::add", "C.B0"), ("aten::add", "C")} <= found


@ported(EDGE, "Backend")
def test_an_event_of_a_backend_names_its_backend_and_its_module(tmp_path):
    import time

    net, path = C(), tmp_path / "t.json"
    with (
        et.profiler.register_debug_handles({5: "B0"}, module=net, backend="test_backend"),
        et.profile(net, path, False, False, True, False, True) as prof,
    ):
        now = time.time_ns() // 1000
        prof.record_backend_event(now, now + 1, 5, "aten::add", "test_backend")
    (event,) = [
        event
        for event in json.loads(path.read_text("utf-8"))["traceEvents"]
        if event.get("args", {}).get("Backend") == "test_backend"
    ]
    assert (event["name"], event["args"]["Module Hierarchy"]) == ("aten::add", "C.B0")
