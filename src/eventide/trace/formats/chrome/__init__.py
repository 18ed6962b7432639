"""Chrome JSON: written by us, and read whoever wrote it; Kineto's files are of this format.

_writer  _layout  _write_memory                       writes
_own                                                  our own columns in both directions
_reader  _metadata  _flows  _stacks  _read_memory     reads; tracks, categories and edges come from trace.linking
"""

from eventide.trace.formats.chrome._metadata import HARMLESS

__all__ = ["HARMLESS"]
