"""What was recorded, and the files it lives in.

_columns  tables for the native encoders  _window   cuts a piece of time out of a trace
_pftrace  writes Perfetto's protobuf      _pftrace_reader  reads it, whoever wrote it
_chrome   writes Chrome JSON              _kineto   reads it, whoever wrote it
_span     span, instant, counter          _recorder  Recorder: from what happens to a .eventide file and its Trace
_schema   the columns of a trace          _trace     Trace: the tables
_open     the reader for a file           _save      the writer for a name
_check    does a trace hold together      _sql       SQL over the tables
_parquet  writes and reads Parquet
_eventide_reader   a .eventide file, closed or killed, as a Trace; _eventide_work: work, waits and synchronizations, as
                   native/core/tracefile/derived_work finds them

Others put what they know into the recording that runs with functions of ``eventide._native`` (and of
``native/core/recorder/things.hpp``), which do nothing when none runs. Times are CLOCK_MONOTONIC in ns, `args` is a JSON
object as text, `track` is None for the calling thread's own, a name, or JSON with columns of the table `tracks`:

    record_span(track, name, category, start_ns, end_ns, args=None, stack=0, submit_ns=0, cpu_ns=0, work=0, ...)
    record_instant(track, name, category=None, args=None, stack=0, time_ns=0)
    record_counter(track, name, value, time_ns=0)
    record_edge(kind, from_track, from_ns, to_track, to_ns, event=0, version=0, correlation=0)
    eventide.store.note({"clocks": ...})      kept in the trace's metadata
"""

from typing import TYPE_CHECKING, Any

from eventide.store._span import counter, instant, span

if TYPE_CHECKING:
    from eventide.store._check import Checked
    from eventide.store._open import open_trace
    from eventide.store._recorder import Recorder, note, recover_trace
    from eventide.store._save import writer_of
    from eventide.store._schema import CATEGORIES, SCHEMAS
    from eventide.store._trace import Trace

__all__ = [
    "CATEGORIES",
    "SCHEMAS",
    "Checked",
    "Recorder",
    "Trace",
    "counter",
    "instant",
    "note",
    "open_trace",
    "recover_trace",
    "span",
    "writer_of",
]

# What needs pyarrow, or is not needed by a program that only marks its spans, comes when asked for.
_ON_USE = {
    "CATEGORIES": "_schema",
    "SCHEMAS": "_schema",
    "Checked": "_check",
    "Recorder": "_recorder",
    "Trace": "_trace",
    "note": "_recorder",
    "open_trace": "_open",
    "recover_trace": "_recorder",
    "writer_of": "_save",
}


def __getattr__(name: str) -> Any:
    if name not in _ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{_ON_USE[name]}"), name)
    if name in {"Recorder", "Trace", "open_trace"}:
        found.__module__ = "eventide"
    globals()[name] = found
    return found
