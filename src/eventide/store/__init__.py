"""What was recorded, and the files it lives in.

_schema   the columns of a trace          _trace    Trace: the tables, SQL over them
"""

from eventide.store._schema import CATEGORIES, SCHEMAS
from eventide.store._trace import Trace

__all__ = ["CATEGORIES", "SCHEMAS", "Trace"]

for _public in (Trace,):
    _public.__module__ = "eventide"
