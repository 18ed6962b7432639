"""What torch.distributed keeps of a job: rank and clock of this process, and its own records of the collectives.

torch's flight recorder has for each collective its group, sequence number, shapes and types. They are stored with the
recording when it ends; the reader puts them on the spans that torch's callbacks have recorded ("gloo:all_reduce").
"""

from __future__ import annotations

import functools
import json
import sys
from typing import Any

from eventide import _native
from eventide._util.on_import import when_imported
from eventide.integrations._patch import guarded
from eventide.integrations.torch._clock_pairs import ClockPairs
from eventide.recording import identity, note

_MODULE = "torch.distributed.distributed_c10d"


class TorchCollectives:
    """From the import of torch to close()."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any]] = []  # module, name, original
        self._records: dict[tuple[str, int], dict[str, Any]] = {}  # by name and time
        self._clock = ClockPairs()
        self._hook = when_imported(_MODULE, self._open)

    def _open(self) -> None:
        """From init_process_group() on the process has a rank; destroy_process_group() clears torch's records."""
        module = sys.modules[_MODULE]
        self._intercept(module, "_update_default_pg", None, self._ready)  # the end of the former
        for one in (module, sys.modules.get("torch.distributed")):
            self._intercept(one, "destroy_process_group", self._end_of_group, None)

    def _intercept(self, module: Any, name: str, before: Any, after: Any) -> None:
        original = getattr(module, name, None)
        if original is not None:
            self._replaced.append((module, name, original))
            made: Any = _native.Intercepted(original, before, after)
            functools.update_wrapper(made, original)
            setattr(module, name, made)

    def close(self) -> None:
        """Store the records, and restore torch."""
        self._hook.close()
        if self._replaced:
            self._store()
            self._clock.close()
        while self._replaced:
            module, name, original = self._replaced.pop()
            setattr(module, name, original)

    @guarded
    def _ready(self, *_: object) -> None:
        module: Any = sys.modules[_MODULE]
        if module.is_initialized():
            note_rank(module)
            store = module._get_default_store()  # noqa: SLF001  (torch has no public name for it)
            self._clock.open(store, module.get_rank(), module.get_world_size())

    @guarded
    def _end_of_group(self, *_: object) -> None:
        self._store()
        self._clock.measure()

    @guarded
    def _store(self, *_: object) -> None:
        """Put torch's records of the collectives into the metadata of the recording."""
        dump = getattr(sys.modules.get("torch._C._distributed_c10d"), "_dump_fr_trace_json", None)
        if dump is None:
            return
        groups = _ranks_of_groups()
        for entry in json.loads(dump()).get("entries", ()):
            record = _record(entry, groups)
            self._records.setdefault((record["name"], record["unix_ns"]), record)  # the first has the group
        if self._records:
            note({"collectives": list(self._records.values())})


def note_rank(module: Any) -> None:
    """Store the rank that torch.distributed has given to this process."""
    known = identity()
    ours = {"launcher": known["launcher"] or "torch", "rank": module.get_rank(), "world_size": module.get_world_size()}
    note({"process": {**known, **ours, "of_rank": None}})


def _ranks_of_groups() -> dict[str, list[int]]:
    """By the name of the group; those that the program has destroyed are missing."""
    module: Any = sys.modules[_MODULE]
    names = getattr(getattr(module, "_world", None), "pg_names", {})
    return {str(name): list(module.get_process_group_ranks(group)) for group, name in names.items()}


def _record(entry: dict[str, Any], groups: dict[str, list[int]]) -> dict[str, Any]:
    """One collective in the words that torch.profiler uses for those of a device."""
    group, description = (*map(str, entry.get("process_group", ())), "", "")[:2]
    sent, received = (sum(map(_elements, entry.get(key, ()))) for key in ("input_sizes", "output_sizes"))
    kinds = entry.get("input_dtypes") or entry.get("output_dtypes") or [""]
    about: dict[str, Any] = {
        "Process Group Name": group,
        "Process Group Description": description,
        "Seq": entry.get("p2p_seq_id") if entry.get("is_p2p") else entry.get("collective_seq_id"),
        "In msg nelems": sent,
        "Out msg nelems": received,
        "dtype": kinds[0],
    }
    if group in groups:
        about |= {"Process Group Ranks": groups[group], "Group size": len(groups[group])}
    return {"name": entry["profiling_name"], "unix_ns": entry["time_created_ns"], "args": about}


def _elements(shape: list[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count
