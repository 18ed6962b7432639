"""A .eventide file, closed or left by a killed process, as a Trace.

_reader   the file and its tables             _columns  columns of the core as arrays
_tracks   threads, streams and devices        _stacks   stacks
_work     work, waits and synchronizations, as native/core/tracefile/derived_work.hpp finds them
_kineto   launches and waits that torch's profiler reported
_account  what was lost, and what it cost
"""

from eventide.trace.formats.eventide._reader import read, read_later

__all__ = ["read", "read_later"]
