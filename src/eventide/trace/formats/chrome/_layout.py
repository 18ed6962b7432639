"""The layout of Chrome's JSON: processes and threads for our tracks, torch.profiler's names for our categories.

The host's threads keep their numbers. Streams are listed under their device, as in torch.profiler: the device's index
is the process and the stream's id the thread, or the next numbers that are free. A further lane is one more thread.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eventide.trace._columns import NONE, Codes, Ints
from eventide.trace.formats.perfetto._tracks import track_name

# Our category: Chrome's on the host, and on a device.
CATEGORIES = {
    "span": ("user_annotation", "gpu_user_annotation"),
    "op": ("cpu_op", "kernel"),
    "module": ("user_annotation", "gpu_user_annotation"),
    "step": ("user_annotation", "gpu_user_annotation"),
    "runtime": ("cuda_runtime", "cuda_runtime"),
    "sync": ("cuda_runtime", "gpu_user_annotation"),
    "compile": ("user_annotation", "gpu_user_annotation"),
    "work": ("cpu_op", "kernel"),
    "kernel": ("cpu_op", "kernel"),
    "copy": ("cpu_op", "gpu_memcpy"),
    "communication": ("cpu_op", "kernel"),
    "wait": ("user_annotation", "gpu_user_annotation"),
    "backend": ("cpu_op", "kernel"),
    "annotation": ("user_annotation", "gpu_user_annotation"),
    "sample": ("python_function", "gpu_user_annotation"),
    "other": ("user_annotation", "gpu_user_annotation"),
}
# Categories that a reader of torch.profiler's files maps to ours by itself.
_UNAMBIGUOUS = {
    ("op", "cpu_op"),
    ("runtime", "cuda_runtime"),
    ("kernel", "kernel"),
    ("copy", "gpu_memcpy"),
    ("annotation", "user_annotation"),
}
_SYNCHRONIZATIONS = (
    "Stream Sync",
    "Context Sync",
    "Event Sync",
    "Stream Wait Event",
)  # all names in the category cuda_sync
_FREE = 1_000_000  # first number for processes and threads without a usable id


@dataclass(frozen=True)
class Layout:
    """The process and thread of each lane, and the metadata events with their names."""

    pid: Ints
    tid: Ints
    stream: Ints
    device: Ints
    named: list[dict[str, Any]]

    def columns(self) -> dict[str, Ints]:
        """The columns for the encoder."""
        return {"pid": self.pid, "tid": self.tid, "stream": self.stream, "device": self.device}


def lay_out(tracks: Sequence[dict[str, Any]], lanes: Codes, shown: Container[int]) -> Layout:
    """Give each lane a process and a thread of its own, and a name to each visible one."""
    pids = _processes(tracks)
    used: dict[int, set[int]] = {pid: set() for pid in pids}
    pid, tid, stream, device = (np.full(len(lanes), NONE, np.int64) for _ in range(4))
    layout = Layout(pid, tid, stream, device, [*_name_processes(tracks, pids)])
    # Threads and streams first: their numbers are real.
    for lane in sorted(
        range(len(lanes)), key=lambda lane: tracks[int(lanes[lane])]["kind"] not in {"thread", "stream"}
    ):
        row = int(lanes[lane])
        own = lane < len(tracks)
        pid[lane] = pids[row]
        tid[lane] = _free(_wanted(tracks[row], row) if own else _FREE + lane, used[pids[row]])
        used[pids[row]].add(int(tid[lane]))
        if tracks[row]["device"] is not None:
            stream[lane] = tid[lane] if tracks[row]["stream"] is None else tracks[row]["stream"]
            device[lane] = _index(tracks[row]["device"])
        if lane in shown:
            name = track_name(tracks[row]) + ("" if own else f" (lane {_rank(lanes, lane, row)})")
            layout.named.append(_metadata("thread_name", pids[row], int(tid[lane]), name=name))
            layout.named.append(_metadata("thread_sort_index", pids[row], int(tid[lane]), sort_index=row))
    return layout


def _wanted(track: dict[str, Any], row: int) -> int:
    number = track["stream"] if track["device"] is not None else track["tid"]
    if number is None:
        number = track["pid"] if track["kind"] == "process" else row
    return row if number is None else int(number)


def chrome_categories(
    codes: Codes, words: pa.Array, names: Codes, texts: pa.Array, on_device: npt.NDArray[np.bool_]
) -> tuple[Codes, list[str], Codes, list[str]]:
    """Chrome's category of each span, and ours if a reader cannot derive it; both as codes and words."""
    ours = words.to_pylist()
    chrome = sorted({word for pair in CATEGORIES.values() for word in pair} | {"gpu_memset", "cuda_sync"})
    number = {word: i for i, word in enumerate(chrome)}
    table = np.array([[number[word] for word in CATEGORIES.get(our, CATEGORIES["other"])] for our in ours] or [[0, 0]])
    found = table.astype(np.int32)[codes, on_device.view(np.int8)]
    if on_device.any():
        special = [_special(text) for text in texts.to_pylist()]
        for word, categories in (("gpu_memset", {"copy"}), ("cuda_sync", {"wait", "sync"})):
            category = np.array([our in categories for our in ours])[codes]
            named = np.array([one == word for one in special])[names]
            found[category & named & on_device] = number[word]
    own_code = [[-1 if (our, word) in _UNAMBIGUOUS else code for word in chrome] for code, our in enumerate(ours)]
    own = np.array(own_code or [[-1] * len(chrome)], np.int32)[codes, found]
    return found, chrome, own, ours


def _special(name: str) -> str:
    if name in _SYNCHRONIZATIONS:
        return "cuda_sync"
    return "gpu_memset" if name.startswith("Memset") else ""


def _processes(tracks: Sequence[dict[str, Any]]) -> list[int]:
    """The process of each track: the host's first, then one for each device, and one for each rank apart."""
    given: dict[object, int] = {}
    taken: set[int] = set()
    keys = [_key(track) for track in tracks]
    for key, track in sorted(zip(keys, tracks, strict=True), key=lambda pair: pair[0][0] != "host"):
        if key not in given:
            wanted = track["pid"] if key[0] == "host" else _index(track["device"])
            given[key] = _free(wanted, taken)
            taken.add(given[key])
    return [given[key] for key in keys]


def _key(track: dict[str, Any]) -> tuple[object, ...]:
    where = ("host",) if track["device"] is None else ("device", track["device"])
    return (*where, track["pid"], track["rank"])


def _name_processes(tracks: Sequence[dict[str, Any]], pids: Sequence[int]) -> Iterator[dict[str, Any]]:
    seen: dict[int, str] = {}
    for track, pid in zip(tracks, pids, strict=True):
        if track["kind"] == "process" and track["name"]:
            seen[pid] = track["name"]
    for order, pid in enumerate(dict.fromkeys(pids)):
        track = tracks[list(pids).index(pid)]
        yield _metadata("process_name", pid, 0, name=seen.get(pid) or track["device"] or "python")
        yield _metadata("process_labels", pid, 0, labels=track["device"] or "CPU")
        yield _metadata("process_sort_index", pid, 0, sort_index=order)


def _metadata(what: str, pid: int, tid: int, **args: Any) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "ts": 0, "args": args}


def _free(wanted: int | None, taken: set[int]) -> int:
    number = wanted if wanted is not None and 0 <= wanted < 2**31 else _FREE
    while number in taken:
        number = max(number + 1, _FREE)
    return number


def _index(device: str) -> int:
    tail = device.rpartition(":")[2]
    return int(tail) if tail.isdecimal() and len(tail) < 10 else 0


def _rank(lanes: Codes, lane: int, row: int) -> int:
    return int(np.count_nonzero(lanes[row:lane] == row)) + 1
