"""Which memory work touches, and which host thread may touch it.

_access      objects to addresses          _layout     views to byte ranges
_host        what the host touches         lifetimes   when memory is allocated and freed
handover     order between host threads    _locks      locks that hand over
"""

from eventide.runtime.access._access import accesses_of, watch_host_memory

__all__ = ["accesses_of", "watch_host_memory"]
