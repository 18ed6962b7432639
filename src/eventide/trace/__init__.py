"""Traces and their files.

_schema   the columns of a trace         _trace       Trace: the tables
_open     chooses the reader of a file   _save        chooses the writer by suffix
_check    consistency of a trace         _sql         SQL over the tables
_window   the part within a time range   _redact      a copy to show to others
_merge    several processes as one trace
_columns  tables for the native encoders _methods     methods that higher packages register

formats/  a reader and a writer for each format: eventide, chrome (and Kineto), perfetto, parquet, xplane
linking/  tracks, categories and edges: shared by the readers of Kineto files, JAX profiles and recordings of torch
"""

from typing import TYPE_CHECKING

from eventide._util.public_names import lazy_names

if TYPE_CHECKING:
    from eventide.trace._check import Checked
    from eventide.trace._methods import Result, register_method
    from eventide.trace._open import open_trace
    from eventide.trace._redact import redacted
    from eventide.trace._save import writer_of
    from eventide.trace._schema import CATEGORIES, SCHEMAS
    from eventide.trace._sql import run_query
    from eventide.trace._trace import Trace
    from eventide.trace._window import cut

__all__ = [
    "CATEGORIES",
    "SCHEMAS",
    "Checked",
    "Result",
    "Trace",
    "cut",
    "merge",
    "open_trace",
    "redacted",
    "register_method",
    "run_query",
    "writer_of",
]

# Most of these need pyarrow.
_ON_USE = {
    "CATEGORIES": "_schema",
    "SCHEMAS": "_schema",
    "Checked": "_check",
    "Result": "_methods",
    "Trace": "_trace",
    "cut": "_window",
    "merge": "_merge",
    "open_trace": "_open",
    "redacted": "_redact",
    "register_method": "_methods",
    "run_query": "_sql",
    "writer_of": "_save",
}
__getattr__, __dir__ = lazy_names(__name__, __all__, _ON_USE, ("Trace", "open_trace"))
