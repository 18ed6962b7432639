"""Record this process into a .eventide file and its Trace.

_span          span, instant, counter
_recorder      Recorder, record_span, note, recover_trace, before_stop
_identity      host, rank, world size and clock of this process

Other packages add to a running recording with functions of ``eventide._native`` (in C++: those of
``native/core/recorder/payload_records.hpp``), which do nothing when none runs. Times are CLOCK_MONOTONIC in ns,
`args` is a JSON object as text, `track` is None for the calling thread's own, a name, or JSON with columns of the table
`tracks`:

    record_span(track, name, category, start_ns, end_ns, args=None, stack=0, submit_ns=0, cpu_ns=0, work=0, ...)
    record_instant(track, name, category=None, args=None, stack=0, time_ns=0)
    record_counter(track, name, value, time_ns=0)
    record_edge(kind, from_track, from_ns, to_track, to_ns, event=0, version=0, correlation=0)
    eventide.recording.note({"clocks": ...})      kept in the trace's metadata
"""

from typing import TYPE_CHECKING

from eventide._util.public_names import lazy_names, publish
from eventide.recording._span import annotate_spans, counter, instant, span

if TYPE_CHECKING:
    from eventide.recording._identity import clock_identity, identity, is_child
    from eventide.recording._recorder import Recorder, before_stop, note, record_span, recover_trace

__all__ = [
    "Recorder",
    "annotate_spans",
    "before_stop",
    "clock_identity",
    "counter",
    "identity",
    "instant",
    "is_child",
    "note",
    "record_span",
    "recover_trace",
    "span",
]

# Not needed by a program that only marks its spans: imported on first use.
_ON_USE = {
    "Recorder": "_recorder",
    "before_stop": "_recorder",
    "clock_identity": "_identity",
    "identity": "_identity",
    "is_child": "_identity",
    "note": "_recorder",
    "record_span": "_recorder",
    "recover_trace": "_recorder",
}
publish("eventide", globals(), ("counter", "instant"))
publish(__name__, globals(), __all__)
__getattr__, __dir__ = lazy_names(__name__, __all__, _ON_USE, ("Recorder",))
