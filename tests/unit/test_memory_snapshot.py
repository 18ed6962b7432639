"""Torch's memory snapshot: read without executing it, and who held memory at the peak."""

from __future__ import annotations

import os
import pickle
import struct
from pathlib import Path
from typing import Any

import pytest

import eventide as et
from eventide.errors import TraceFormatError
from eventide.trace.formats._plain_pickle import plain_values

MODEL = [{"filename": "model.py", "line": 7, "name": "forward"}]
OPTIMIZER = [{"filename": "optim.py", "line": 3, "name": "step"}]


def entry(action: str, addr: int, size: int, time_us: int, frames: list[dict[str, Any]]) -> dict[str, Any]:
    return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": time_us, "frames": frames}


def snapshot() -> dict[str, Any]:
    """Two live blocks at the peak, one of them allocated before the history; made of plain values, as torch's are."""
    history = [
        entry("segment_alloc", 4096, 1 << 21, 1_000_000, MODEL),
        entry("alloc", 4096, 1000, 1_000_001, MODEL),
        entry("alloc", 8192, 500, 1_000_002, OPTIMIZER),
        entry("free_requested", 8192, 500, 1_000_003, OPTIMIZER),
        entry("free_completed", 8192, 500, 1_000_004, OPTIMIZER),
        entry("oom", 0, 1 << 40, 1_000_005, MODEL),
    ]
    blocks = [
        {"address": 4096, "size": 1000, "state": "active_allocated", "frames": MODEL},
        {"address": 5096, "size": 200, "state": "inactive", "frames": []},
        {"address": 16384, "size": 300, "state": "active_allocated", "frames": OPTIMIZER},
    ]
    segment = {"device": 0, "address": 4096, "total_size": 1 << 21, "blocks": blocks}
    return {"segments": [segment], "device_traces": [history], "allocator_settings": {"expandable_segments": False}}


def written(tmp_path: Path, value: Any, protocol: int = 4) -> Path:
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps(value, protocol))
    return path


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_the_peak_of_a_snapshot_and_the_lines_that_held_it(tmp_path: Path, protocol: int) -> None:
    trace = et.open_trace(written(tmp_path, snapshot(), protocol))
    (device,) = trace.memory().devices
    assert (device.device, device.peak, device.peak_time, device.end) == ("cuda:0", 1800, 1_000_002_000, 1300)
    assert [(each.line, each.bytes) for each in device.holders] == [
        ("model.py:7 (forward)", 1000),
        ("optim.py:3 (step)", 800),
    ]
    assert trace.counters.column("value").to_pylist() == [float(1 << 21)]
    assert trace.instants.column("name").to_pylist() == ["out of memory"]
    assert trace.metadata["warnings"] == []
    assert trace.report().startswith("trace: ")


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize(
    "value",
    [
        snapshot(),
        [None, True, False, -1, 255, 256, 65_536, -(2**31), 2**31, 2**63, -(2**200), 1.5, "é\ud800", b"\x00\xff"],
        {"t": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)], 3: {(1, "k"): []}},
        "x" * 300,
        b"y" * 300,
        list(range(2000)),
    ],
)
def test_plain_values_are_those_of_pickle(value: Any, protocol: int) -> None:
    assert (protocol < 3 and b"\xff" in _bytes_of(value)) or plain_values(pickle.dumps(value, protocol)) == value


def _bytes_of(value: Any) -> bytes:
    """Protocol 2 has no bytes: pickle writes a call, which is refused."""
    if isinstance(value, bytes):
        return b"\xff"
    return b"\xff" if isinstance(value, list) and any(isinstance(each, bytes) for each in value) else b""


class Dangerous:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_that_would_run_code_is_refused_and_does_not_run(tmp_path: Path, protocol: int) -> None:
    path = written(tmp_path, {"segments": [], "device_traces": [[Dangerous(tmp_path / "made")]]}, protocol)
    with pytest.raises(TraceFormatError, match=r"would run code \((STACK_)?GLOBAL at byte \d+\), which is never done"):
        et.open_trace(path)
    assert not (tmp_path / "made").exists()


def test_a_snapshot_that_is_cut_or_damaged_is_an_error(tmp_path: Path) -> None:
    data = pickle.dumps(snapshot(), 4)
    path = tmp_path / "s.pickle"
    for cut in range(2, len(data), 7):
        path.write_bytes(data[:cut])
        with pytest.raises(TraceFormatError):
            et.open_trace(path)
    for damaged in (
        b"\x80\x04e.",
        b"\x80\x04(a.",
        b"\x80\x04h\x05.",
        b"\x80\x04]K\x01s.",
        b"\x80\x04K\x01K\x02a.",
        b"\x80\x04.",
    ):
        path.write_bytes(damaged)
        with pytest.raises(TraceFormatError):
            et.open_trace(path)


def test_lengths_that_the_file_does_not_have_take_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "s.pickle"
    for code in (
        b"X" + struct.pack("<I", 2**32 - 1),
        b"\x8e" + struct.pack("<Q", 2**62),
        b"\x8b" + struct.pack("<I", 2**31),
    ):
        path.write_bytes(b"\x80\x04" + code + b"ab.")
        with pytest.raises(TraceFormatError, match=r"inside a value|an integer of"):
            et.open_trace(path)
    path.write_bytes(b"\x80\x04Nr\xff\xff\xff\xff.")  # stores a value under a huge number
    with pytest.raises(TraceFormatError, match="not a memory snapshot of torch but a NoneType"):
        et.open_trace(path)


@pytest.mark.parametrize("value", [[], {"weights": [1.0]}, 5])
def test_another_pickle_is_not_a_snapshot(tmp_path: Path, value: Any) -> None:
    with pytest.raises(TraceFormatError, match="not a memory snapshot of torch"):
        et.open_trace(written(tmp_path, value))


def test_a_snapshot_without_history_says_what_to_call(tmp_path: Path) -> None:
    found = et.open_trace(written(tmp_path, {"segments": snapshot()["segments"], "device_traces": [[]]}))
    assert found.metadata["warnings"] == [
        "no history was recorded: call torch.cuda.memory._record_memory_history() first"
    ]
    assert found.memory().devices[0].peak == 1300


def test_entries_of_another_form_are_counted_and_left_out(tmp_path: Path) -> None:
    value = snapshot()
    value["device_traces"][0] += [
        entry("alloc", -1, 5, 1, []),
        {"action": "alloc", "addr": "x", "size": 1, "time_us": 1},
    ]
    found = et.open_trace(written(tmp_path, value))
    assert found.metadata["account"]["ignored"] == {"entries of another form": 2}
    assert found.memory().devices[0].peak == 1800
