"""Imports one rank: reads its trace and writes its tables, in any process of any host that sees both.

The tables go to a directory of their own below the job's, `.part-<name>`; the process that runs the import renames it.
So a rank is there completely or not at all, whatever is killed.
"""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import traceback
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from eventide.errors import EventideError
from eventide.jobs._schema import VERSION
from eventide.jobs._tables import rank_tables
from eventide.trace import Trace, open_trace
from eventide.trace.formats import parquet

PART, ABOUT = ".part-", "import.json"


def import_rank(task: dict[str, Any]) -> dict[str, Any]:
    """Import task["source"] below task["job"]; what was made, or the error. Plain values in and out.

    Only errors of the files are answers; any other one is a bug and raises.
    """
    try:
        trace = open_trace(task["source"])
        rank, own = _rank(trace), True
        if rank is None:
            rank, own = task["named"], False
        tables = rank_tables(trace, rank)
    except (EventideError, OSError, MemoryError) as error:
        return {"source": task["source"], "error": " ".join(str(error).split()) or type(error).__name__}
    about = {
        "version": VERSION,
        **{name: task[name] for name in ("source", "bytes", "modified_ns")},
        "rank": rank,
        "rank_in_trace": own,
        "spans": trace.spans.num_rows,
    }
    return _written(task, Trace(trace.tables, {**trace.metadata, "path": Path(task["source"]).name}), tables, about)


def _written(task: dict[str, Any], trace: Trace, tables: dict[str, pa.Table], about: dict[str, Any]) -> dict[str, Any]:
    """Write all of a rank. What cannot be written is not the fault of the file: it ends the import."""
    # A name of its own: a task that was given up may still run on a host that is out of reach.
    part = Path(task["job"], f"{PART}{task['order']:06d}-{uuid.uuid4().hex}")
    try:
        parquet.write(trace, part)
        for name, table in tables.items():
            pq.write_table(table, part / f"{name}.parquet", compression="zstd")
        about = {**about, "digest": digest_of(part), "files": sizes_of(part)}
        (part / ABOUT).write_text(json.dumps(about), "utf-8")
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        return {"source": task["source"], "cannot_write": error.errno or errno.EIO}
    return {**about, "part": part.name}


def import_in_any_case(task: dict[str, Any]) -> dict[str, Any]:
    """The same; an error of Eventide, which is printed, leaves out this file only."""
    try:
        return import_rank(task)
    except Exception as error:  # noqa: BLE001 - the other files are still imported
        traceback.print_exc()
        return {"source": task["source"], "error": f"internal error, {error!r}; please report this"}


def _rank(trace: Trace) -> int | None:
    rank = trace.metadata.get("rank")
    if isinstance(rank, int) and 0 <= rank < 10**7:
        return rank
    ranks = {each for each in trace.tracks.column("rank").to_pylist() if each is not None}
    if len(ranks) > 1:
        raise EventideError(f"the trace has {len(ranks)} ranks; give one file for each rank")
    return ranks.pop() if ranks else None


def sizes_of(folder: Path) -> dict[str, int]:
    """The length of each table: a rank of which one was lost or cut later is imported again."""
    return {file.name: file.stat().st_size for file in sorted(folder.glob("*.parquet"))}


def digest_of(folder: Path) -> str:
    """SHA-256 of the names and contents of its tables: the same trace has the same digest on every machine."""
    total = hashlib.sha256()
    for file in sorted(folder.glob("*.parquet")):
        with file.open("rb") as opened:
            total.update(f"{file.name} {hashlib.file_digest(opened, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()
