"""What was recorded, and the files that hold it.

_schema   the columns of a trace         _trace       Trace: the tables
_open     the reader for a file          _save        the writer for a name
_check    does a trace hold together     _sql         SQL over the tables
_window   cuts a piece of time out       _stack_text  a stack as text
_columns  tables for the native encoders

formats/  a reader and a writer for each format: eventide, chrome (and Kineto), perfetto, parquet, xplane
linking/  tracks, categories and edges, as Kineto's files, JAX's profiles and recordings of torch share them
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eventide.trace._check import Checked
    from eventide.trace._open import open_trace
    from eventide.trace._save import writer_of
    from eventide.trace._schema import CATEGORIES, SCHEMAS
    from eventide.trace._trace import Trace
    from eventide.trace._window import cut

__all__ = ["CATEGORIES", "SCHEMAS", "Checked", "Trace", "cut", "open_trace", "writer_of"]

# All of these need pyarrow, or are needed only by those who open a trace: imported on first use.
_ON_USE = {
    "CATEGORIES": "_schema",
    "SCHEMAS": "_schema",
    "Checked": "_check",
    "Trace": "_trace",
    "cut": "_window",
    "open_trace": "_open",
    "writer_of": "_save",
}


def __getattr__(name: str) -> Any:
    if name not in _ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{_ON_USE[name]}"), name)
    if name in {"Trace", "open_trace"}:
        found.__module__ = "eventide"
    globals()[name] = found
    return found
