"""Events that backends report: Unix or monotonic time, torch's keys, modules of debug handles, memory by span."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

import eventide as et
from tests.unit.profiles import names, now_us


def unix_us() -> int:
    return time.time_ns() // 1000


def backend_rows(prof: et.profile) -> list[dict[str, Any]]:
    spans = [row for row in prof.result.trace.spans.to_pylist() if row["category"] == "backend"]
    return [{**row, "args": json.loads(row["args"])} for row in spans]


def test_unix_time_and_monotonic_time_are_both_accepted() -> None:
    with et.profile() as prof:
        before = time.monotonic_ns()
        start = unix_us()
        assert prof.record_backend_event(start, start + 7, 1, "unix", "npu")
        start = now_us()
        assert prof.record_backend_event(start, start + 7, 2, "monotonic", "npu")
        after = time.monotonic_ns()
    rows = backend_rows(prof)
    assert [(row["name"], row["duration"]) for row in rows] == [("unix", 7000), ("monotonic", 7000)]
    # The date may be corrected meanwhile, by far less than a second.
    assert all(before - 10**9 < row["start"] < after + 10**9 for row in rows)
    assert prof.dropped == {}
    assert prof.result.trace.metadata["warnings"] == []


def test_a_time_of_neither_clock_is_still_outside() -> None:
    with et.profile() as prof:
        far = now_us() + 3 * 31_556_952_000_000  # three years from now
        prof.record_backend_event(far, far + 1, 0, "conv", "npu")
    assert names(prof.result) == []
    (warning,) = prof.result.trace.metadata["warnings"]
    assert "its clock is neither CLOCK_MONOTONIC nor Unix time; use adjust_timestamps=True" in warning


def test_the_arguments_are_positional_in_the_order_of_torchs_edge_profiler(tmp_path) -> None:
    def module() -> int:
        return 3

    class Net:
        def __call__(self) -> int:
            return module()

    net, path = Net(), tmp_path / "t.json"
    # m, fname, report_input_shapes, profile_memory, with_stack, with_flops, with_modules, events, adjust_timestamps
    with et.profile(net, path, True, False, True, False, True, ["instructions"], True) as prof:
        net()
    assert path.exists()
    options = prof.result.profiler["options"]
    assert options == {
        "report_input_shapes": True,
        "profile_memory": False,
        "with_stack": True,
        "with_flops": False,
        "with_modules": True,
        "adjust_timestamps": True,
        "perf_counters": ("instructions",),
    }


class _Module:
    """What is needed of a torch.nn.Module."""

    def __init__(self, **inside: _Module) -> None:
        self.inside = inside

    def named_modules(self, prefix: str = "") -> Any:
        yield prefix, self
        for name, one in self.inside.items():
            yield from one.named_modules(f"{prefix}.{name}" if prefix else name)


def test_a_debug_handle_has_the_module_that_was_registered_for_it() -> None:
    block = _Module(conv=_Module())
    net = _Module(block=block)
    with (
        et.profiler.register_debug_handles({1: "block.conv", 2: block, 3: net}, module=net),
        et.profiler.register_debug_handles({4: "elsewhere", 1: "of another"}, backend="other"),
        et.profile() as prof,
    ):
        for handle in (1, 2, 3, 4, 5):
            prof.record_backend_event(now_us(), now_us(), handle, f"op {handle}", "npu")
        prof.record_backend_event(now_us(), now_us(), 1, "of other", "other")
    modules = {row["name"]: row["args"].get("Module Hierarchy") for row in backend_rows(prof)}
    assert modules == {
        "op 1": "_Module.block.conv",
        "op 2": "_Module.block",
        "op 3": "_Module",
        "op 4": None,
        "op 5": None,
        "of other": "of another",
    }
    with et.profile() as prof:
        prof.record_backend_event(now_us(), now_us(), 1, "later", "npu")
    assert "Module Hierarchy" not in backend_rows(prof)[0]["args"]


def test_debug_handles_of_adjusted_clocks_have_modules_too() -> None:
    with (
        et.profiler.register_debug_handles({9: "Net.head"}),
        et.profile(adjust_timestamps=True) as prof,
    ):
        prof.record_backend_event(5, 6, 9, "conv", "npu")
    (row,) = backend_rows(prof)
    assert (row["args"]["Module Hierarchy"], row["args"]["Backend"]) == ("Net.head", "npu")


def test_wrong_debug_handles_are_refused() -> None:
    register = et.profiler.register_debug_handles
    with pytest.raises(TypeError, match="handles must be a dict of debug handles and modules, not list"):
        register([1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a debug handle is a whole number, not str"):
        register({"1": "x"})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match=r"module must be a torch\.nn\.Module or None, not int"):
        register({1: "x"}, module=3)
    with pytest.raises(TypeError, match="without module= a debug handle needs the name of a module, not 5"):
        register({1: 5})
    with pytest.raises(ValueError, match=r"there is no module 'head' in _Module; there are '', 'block'"):
        register({1: "head"}, module=_Module(block=_Module()))
    with pytest.raises(TypeError, match="backend must be the name of a backend or None, not int"):
        register({}, backend=3)  # type: ignore[arg-type]


def test_the_chrome_file_has_the_backend_and_the_module(tmp_path) -> None:
    with (
        et.profiler.register_debug_handles({7: "Net.conv"}),
        et.profile(path=tmp_path / "t.json") as prof,
    ):
        prof.record_backend_event(now_us(), now_us() + 1, 7, "conv2d", "npu")
    events = json.loads((tmp_path / "t.json").read_text("utf-8"))["traceEvents"]
    (event,) = [event for event in events if event.get("name") == "conv2d"]
    args = event["args"]
    assert (args["Backend"], args["Module Hierarchy"], args["debug_handle"]) == ("npu", "Net.conv", 7)


def test_memory_is_that_of_the_innermost_span_and_of_all_around_it() -> None:
    with et.profile(profile_memory=True) as prof:
        with et.span("outer"):
            prof.record_backend_memory_event(1, 100, 100, 100, "cpu")
            with et.span("inner"):
                prof.record_backend_memory_event(2, 30, 130, 130, "cpu")
                prof.record_backend_memory_event(1, -100, 30, 130, "cpu")
                prof.record_backend_memory_event(3, 5, 5, 5, "npu:0")
            with et.span("inner"), et.span("inner"):  # recursion counts once
                prof.record_backend_memory_event(4, 7, 37, 137, "cpu")
        prof.record_backend_memory_event(5, 11, 48, 148, "cpu")
    rows = {row.name: row for row in prof.result.rows()}
    memory = {name: (row.self_memory, row.memory) for name, row in rows.items()}
    assert memory == {"outer": (100, 37), "inner": (-63, -63), "[memory]": (11, 11)}
    assert (rows["inner"].self_device_memory, rows["outer"].device_memory) == (5, 5)
    text = str(prof.result.table(sort_by="self_cpu_memory_usage"))
    assert " ".join(text.splitlines()[0].split()).endswith("count self mem mem self dev mem dev mem")
    assert [line.split()[0] for line in text.splitlines()[1:]] == ["outer", "[memory]", "inner"]
    assert "-63 B" in text


def test_memory_of_buffers_counts_and_without_memory_there_are_no_columns() -> None:
    with et.profile(profile_memory=True) as prof, et.span("buffer"):
        buffer = et.empty(4096)
        buffer.free()
        kept = et.empty(10)
    (row,) = prof.result.rows()
    assert (row.name, row.memory, row.self_memory, row.device_memory) == ("buffer", 10, 10, 0)
    kept.free()
    with et.profile() as prof, et.span("nothing"):
        pass
    (row,) = prof.result.rows()
    assert row.memory is None
    assert "mem" not in str(prof.result.table()).splitlines()[0]
