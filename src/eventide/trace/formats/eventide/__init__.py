"""A .eventide file, closed or left by a killed process, as a Trace.

_reader       the file and its tables             _processes  several files of one run
_columns      columns, names and stacks of the core as Arrow arrays
_tracks       threads, streams and devices
_collectives  those of torch.distributed, from its records
_work         work, waits and synchronizations, derived by native/core/tracefile/derived_work.hpp
_virtual      host times of devices in virtual time
_kineto       edges from the launches and waits that torch's profiler reported
_metadata     counts of what was recorded and lost, overhead, warnings
"""

from eventide.trace.formats.eventide._reader import read, read_later

__all__ = ["read", "read_later"]
