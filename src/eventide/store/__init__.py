"""What was recorded, and the files it lives in.

_schema   the columns of a trace          _trace    Trace: the tables
_open     the reader for a file           _save     the writer for a name
_check    does a trace hold together      _sql      SQL over the tables
_parquet  writes and reads Parquet        _columns  tables as the native encoders take them
_pftrace  writes Perfetto's protobuf      _pftrace_reader  reads it, whoever wrote it
_chrome   writes Chrome JSON              _kineto   reads it, whoever wrote it
"""

from eventide.store._check import Checked
from eventide.store._open import open_trace
from eventide.store._schema import CATEGORIES, SCHEMAS
from eventide.store._trace import Trace

__all__ = ["CATEGORIES", "SCHEMAS", "Checked", "Trace", "open_trace"]

for _public in (Trace, open_trace):
    _public.__module__ = "eventide"
