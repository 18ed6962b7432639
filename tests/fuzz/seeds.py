"""Writes the documents that fuzzing starts from: one of each thing that the readers of Chrome traces know.

python tests/fuzz/seeds.py DIRECTORY
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

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


def main() -> None:
    """Write the seeds, each once as it is and once behind the byte that libFuzzer's target takes for a size."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in documents().items():
        (folder / name).write_bytes(b"\x06" + data)


if __name__ == "__main__":
    main()
