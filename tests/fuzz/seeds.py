"""Writes the files that fuzzing starts from, a directory for each target: one of each record that its reader supports.

python tests/fuzz/seeds.py DIRECTORY
"""

from __future__ import annotations

import gzip
import json
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

SHARED = Path(__file__).resolve().parents[3] / "shared" / "traces"  # real traces; absent elsewhere
# Of a buffer, see record.hpp: the bytes of its header, and where that has the path of the trace.
_HEADER, _PATH = 2272, 224

_PLACE = {"pid": 1, "tid": 2}
_CALL = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", **_PLACE, "ts": 1.5, "dur": 2}
_KERNEL = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 4, "dur": 1e1}
_WAIT = {"wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 4, "wait_on_cuda_event_id": 1, "correlation": 5}
_MEMORY = {"Addr": 1, "Bytes": 8, "Total Allocated": 8, "Total Reserved": 9, "Device Type": 1, "Device Id": 0}

_FLOW = {"id": 3, "cat": "ac2g", "name": "ac2g", "bp": "e", **_PLACE}
_REQUEST = {"id": "0x1", "cat": "net", "name": "r", **_PLACE}

EVENTS: dict[str, list[dict[str, Any]]] = {
    "launch": [{**_CALL, "args": {"correlation": 4}}, {**_KERNEL, "args": {"correlation": 4, "stream": 7}}],
    "wait": [{**_KERNEL, "cat": "cuda_sync", "name": "Stream Wait Event", "args": _WAIT}],
    "sync": [{**_KERNEL, "cat": "cuda_sync", "name": "Context Sync", "args": {"stream": -1, "correlation": 6}}],
    "begin": [{"ph": "B", "name": "a", "ts": 1, **_PLACE, "args": {"x": 1}}, {"ph": "E", "ts": "2", **_PLACE}],
    "async": [{"ph": phase, "ts": n, **_REQUEST} for n, phase in enumerate("bnbee")],
    "flow": [{"ph": phase, "ts": n, **_FLOW} for n, phase in enumerate("stf")],
    "counter": [{"ph": "C", "name": "c", "ts": 3, "pid": "GPU 0", "args": {"value": -1.25e-2, "cats": 3}}],
    "instant": [{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "ts": 1, **_PLACE, "args": _MEMORY}],
    "names": [{"ph": "M", "name": "thread_name", "pid": 0, "tid": "stream 7", "args": {"name": "stream 7"}}],
    "stack": [{**_CALL, "args": {"Call stack": "a.py(3): f;b.py(4): g", "x": [[{"y": None}], True]}}],
    "text": [{**_CALL, "name": 'é😀"\\\n\u2028', "args": {"\ud83d": "\ude00", "big": 2**70, "e": 1e300}}],
}


def documents() -> dict[str, bytes]:
    """Each seed by name."""
    found = {name: json.dumps(events).encode() for name, events in EVENTS.items()}
    everything = [event for events in EVENTS.values() for event in events]
    about = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "A100"}], "distributedInfo": {"rank": 1}}
    whole = json.dumps({**about, "baseTimeNanoseconds": 10**18, "traceEvents": everything, "z": [1]}, indent=1).encode()
    found["whole"] = whole
    found["cut"] = whole[: len(whole) // 2]
    found["lenient"] = b'\xef\xbb\xbf[{"ph":"X","name":"C:\\Users\xff","ts":NaN,"dur":-inf,},]'
    found["nested"] = b'[{"args":' + b"[" * 500
    found["gzip"] = gzip.compress(whole, mtime=0)
    return found


def recordings() -> dict[str, bytes]:
    """What our recorder writes: a closed file, one that a killed process left, and without its tail."""
    from tests.fuzz import damage

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.eventide")
        damage.recorded(path)
        whole = path.read_bytes()
    return {"whole": whole, "cut": whole[: len(whole) * 2 // 3]}


def buffers() -> dict[str, bytes]:
    """The buffer of a killed process with its parts close together, since a fuzzer likes small inputs."""
    from tests.fuzz import damage

    with tempfile.TemporaryDirectory() as folder:
        _, buffer = damage.left_by_a_killed_process(Path(folder, "a.eventide"))
    header = bytearray(buffer[:_HEADER])
    _, names, _, chunks = struct.unpack_from("<4Q", header, 40)
    used = struct.unpack_from("<Q", header, 80)[0]
    entries = struct.unpack_from("<I", buffer, chunks + 8)[0]
    first = buffer[chunks : chunks + 64 + 32 * entries]
    struct.pack_into("<4QI", header, 40, _PATH, _HEADER, used, _HEADER + used, 1)
    header[_PATH:] = bytes(_HEADER - _PATH)
    return {"killed": bytes(header) + buffer[names : names + used] + first}


def perfetto() -> dict[str, bytes]:
    """Our own file, its parts of the native encoder, and one of each thing that other writers do."""
    from eventide.trace.formats.perfetto._proto import field
    from tests.fuzz import damage
    from tests.reference.perfetto_packets import packets

    with tempfile.TemporaryDirectory() as folder:
        damage.recorded(Path(folder, "a.eventide")).save(Path(folder, "a.pftrace"))
        whole = list(packets(Path(folder, "a.pftrace").read_bytes()))
    small = [packet for packet in whole if len(packet) < 500]
    thread = field(44, field(1, 7) + field(2, 8) + field(5, "old") + field(6, 1000))
    legacy = field(6, field(2, ord("X")) + field(3, 50) + field(1, 1))
    clocks = field(6, field(1, field(1, 6) + field(2, 100)) + field(1, field(1, 64) + field(2, 5) + field(3, 1)))
    nested = field(4, field(10, "a") + field(11, field(10, "b") + field(12, field(4, 3)) + field(12, field(2, 1))))
    others = [
        field(13, 1) + thread + field(12, field(2, field(1, 1) + field(2, "complete"))),
        field(13, 2) + field(11, field(1, 10) + field(9, 1) + field(23, "a")),
        field(13, 2) + field(11, field(16, 2000) + legacy),
        clocks,
        field(8, 3) + field(58, 64) + field(11, field(9, 3) + field(23, "i") + nested),
        field(8, 4) + field(11, field(9, 4) + field(30, 5) + field(11, 9)),
        field(60, field(1, 9) + field(5, 1) + field(8, field(4, 2) + field(5, 1))),
    ]
    return {
        "ours": b"".join(field(1, packet) for packet in small),
        "others": b"".join(field(1, packet) for packet in others),
    }


def profiles() -> dict[str, bytes]:
    """Profiles of JAX."""
    from tests.reference.xplane import Event, Line, Plane, encode, environment

    events = [
        Event("f", 5, 7, {"step_num": 3, "_p": 1, "_pt": 2, "x": 0.5}),
        Event("g", 20, 7, {"_c": 1, "_ct": 2, "correlation_id": 4, "hlo_op": "add"}),
    ]
    plane = Plane("/host:CPU", [Line("python", events, 1, 10)], {"process_id": 5}, {"f": {"flops": 3}})
    return {"profile": encode([plane, environment()])}


def programs() -> dict[str, bytes]:
    """Stream programs as JSON."""
    access = [{"buffer": "a", "from": 0, "to": 8}]
    ops: list[dict[str, Any]] = [
        {"op": "allocate", "buffer": "a", "bytes": 64, "stream": 1},
        {"op": "work", "stream": 1, "writes": access, "name": "fill"},
        {"op": "record", "event": "e", "stream": 1},
        {"op": "wait", "event": "e", "stream": 2},
        {"op": "work", "stream": 2, "reads": access},
        {"op": "collective", "name": "all_reduce", "rank_stream": 2, "group": "g"},
        {"op": "signal_value", "semaphore": "s", "value": 2, "stream": 1},
        {"op": "wait_value", "semaphore": "s", "value": 1, "stream": 2},
        {"op": "record_stream", "buffer": "a", "stream": 2},
        {"op": "host_signal", "token": 1, "thread": 1},
        {"op": "host_wait", "token": 1},
        {"op": "synchronize_event", "event": "e"},
        {"op": "free", "buffer": "a", "stream": 1},
        {"op": "delete_event", "event": "e"},
        {"op": "synchronize_device"},
        {"op": "exit"},
    ]
    return {"program": json.dumps({"ops": ops, "default_stream_blocks": [1]}).encode()}


def pieces(longest: int = 3000) -> dict[str, bytes]:
    """The starts and the ends of real traces of others, where they are on this machine."""
    found = {}
    for path in sorted(SHARED.glob("*.json.gz")):
        with gzip.open(path) as file:
            text = file.read(200_000)
        found[f"{path.stem}-start"] = text[:longest]
        event = text.find(b'"ph"', len(text) // 2)
        begin = text.rfind(b"{", 0, event) if event >= 0 else -1
        if begin >= 0:
            found[f"{path.stem}-middle"] = b"[" + text[begin : begin + longest]
    return found


def main() -> None:
    """Write the seeds; libFuzzer's target of Chrome JSON and that of atheris take the first byte for a size."""
    chrome = {name: b"\x06" + data for name, data in {**documents(), **pieces()}.items()}
    seeds = {
        "chrome": chrome,
        "kineto": chrome,
        "pftrace": perfetto(),
        "xplane": profiles(),
        "eventide": recordings(),
        "buffer": buffers(),
        "program": programs(),
    }
    for target, files in seeds.items():
        folder = Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
