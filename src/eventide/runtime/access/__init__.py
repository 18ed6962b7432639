"""Which memory work touches, and which host thread may touch it.

_access     objects to addresses; what the host accesses    _layout     views to byte ranges
lifetimes   when host memory is allocated and freed
handover    order between host threads                      _locks      locks that signal and wait
"""

from eventide.runtime.access._access import accesses_of, host_access

__all__ = ["accesses_of", "host_access"]
