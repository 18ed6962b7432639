"""Which memory work touches, and which host thread may touch it.

_access     objects to addresses; what the host accesses    _layout     views to byte ranges
lifetimes   when host memory is allocated and freed
handover    order between host threads                      _locks      locks that signal and wait
_channels   SimpleQueue, pipes, event loops               _permits    semaphores and bounded queues
_needed     when recordings trace both                    _types      what reads= and writes= accept
"""

from eventide.runtime.access._access import accesses_of, host_access
from eventide.runtime.access._needed import accesses_are_declared, recording_started, recording_stopped

__all__ = ["accesses_are_declared", "accesses_of", "host_access", "recording_started", "recording_stopped"]
