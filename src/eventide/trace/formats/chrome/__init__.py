"""Chrome JSON: writes it, and reads that of any tool; Kineto's files have this format.

_writer  _layout                      writes
_eventide_member  _memory             columns that the events lack, and torch's `[memory]`, in both directions
_reader  _metadata  _flows  _stacks   reads; tracks, categories and edges come from trace.linking
"""

from eventide.trace.formats.chrome._metadata import HARMLESS

__all__ = ["HARMLESS"]
