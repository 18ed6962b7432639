"""A trace to show to others: without directories, arguments of spans, and command lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eventide.trace._schema import SCHEMAS
from eventide.trace._trace import Trace

# From a root or a home up to the last separator; what is left is the name of the file.
_WORD = r"[^/\\\s\"'<>|:;,()\[\]{}]"
_FOLDERS = re.compile(rf"(?:(?<![\w.:/~-])~?|(?<=file:/)/?|[A-Za-z]:)(?:[/\\]{_WORD}+)*[/\\](?={_WORD})")
# What the metadata says about the measurement, not about the program or its machine.
_KEPT = (
    "source", "clock", "account", "warnings", "wall_clock", "ring", "run", "devices", "rank", "world_size",
    "distributed", "distributedInfo", "profiler", "clock_pairs", "window", "skew", "schema", "recovered",
)  # fmt: skip
_OF_A_PROCESS = ("pid", "parent", "kind", "rank", "world_size", "local_rank", "of_rank")


def redacted(trace: Trace, *, arguments: bool = True) -> Trace:
    """A copy without the directories of all files and, with `arguments`, without what spans, events and commands got.

    Names, times and the lines of files stay. A name that holds a secret by itself stays, too.
    """
    tables = {name: _table(name, table, arguments) for name, table in trace.tables.items()}
    return Trace(tables, _metadata(trace.metadata, arguments))


def without_folders(text: str) -> str:
    """The text with the directories of absolute paths removed: "at /srv/me/a.py:3" becomes "at a.py:3"."""
    return _FOLDERS.sub("", text)


def _table(name: str, table: pa.Table, arguments: bool) -> pa.Table:
    if name == "stacks":
        return pa.table({"frames": _frames(table.column("frames"))}, schema=SCHEMAS[name])
    for index, field in enumerate(table.schema):
        column = table.column(index)
        if field.name == "args" and arguments:
            column = _without_arguments(table)
        elif pa.types.is_dictionary(field.type):
            column = _of_dictionary(column)
        elif pa.types.is_string(field.type):
            column = _mapped(column)
        table = table.set_column(index, field, column)
    return table


def _without_arguments(table: pa.Table) -> pa.ChunkedArray:
    """Null, except whether a sampled thread waited, which is a measurement."""
    args = table.column("args")
    sample = pc.equal(table.column("category").cast(pa.string()), "sample")
    return pc.if_else(pc.fill_null(sample, False), args, pa.scalar(None, pa.string()))


def _of_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    whole = column.unify_dictionaries().combine_chunks()
    words = [None if word is None else without_folders(word) for word in whole.dictionary.to_pylist()]
    distinct = list(dict.fromkeys(words))  # two files of one name, from two folders
    place = {word: number for number, word in enumerate(distinct)}
    moved = pc.take(pa.array([place[word] for word in words] or [0], pa.int32()), whole.indices)
    return pa.chunked_array([pa.DictionaryArray.from_arrays(moved, pa.array(distinct, pa.string()))])


def _mapped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    distinct = pc.unique(column).to_pylist()
    clean = {word: None if word is None else without_folders(word) for word in distinct}
    if all(word == new for word, new in clean.items()):
        return column
    return pa.chunked_array([[clean[word] for word in column.to_pylist()]], pa.string())


def _frames(column: pa.ChunkedArray) -> list[Any]:
    def file(name: str | None) -> str | None:
        return name if name is None or name.startswith("<") else re.split(r"[/\\]", name)[-1]

    return [
        None if frames is None else [frame and {**frame, "file": file(frame["file"])} for frame in frames]
        for frames in column.to_pylist()
    ]


def _metadata(metadata: dict[str, Any], arguments: bool) -> dict[str, Any]:
    if not arguments:
        found: dict[str, Any] = _texts(metadata, without_folders)
        return found
    kept = {key: metadata[key] for key in _KEPT if key in metadata}
    for key in ("process", "processes"):
        if key in metadata:
            many = metadata[key] if isinstance(metadata[key], list) else [metadata[key]]
            short = [{name: each.get(name) for name in _OF_A_PROCESS} for each in many if isinstance(each, dict)]
            kept[key] = short if isinstance(metadata[key], list) else next(iter(short), {})
    clean: dict[str, Any] = _texts(kept, without_folders)
    return clean


def _texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _texts(each, change) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_texts(each, change) for each in value]
    return value
