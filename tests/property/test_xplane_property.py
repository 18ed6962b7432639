"""Random profiles of JAX, read as the model that made them says."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import eventide as et
from tests.reference.xplane import BEGAN, Event, Line, Plane, encode, environment, expected_spans, read_spans

_names = st.sampled_from(["a", "Stream #3", "XLA Ops", "$f.py:1 g", "jit(f)", 'x"\\\n\x00', "é中"]) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=6
)
_times = st.integers(0, 5_000) | st.integers(0, 2**61)
_values = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False) | _names
_stats = st.dictionaries(
    st.sampled_from(["a", "step_num", "correlation_id", "_p", "_c", "_pt", "hlo_op", "é"]), _values
)
_events = st.builds(Event, _names, _times, _times, _stats)
_lines = st.builds(Line, _names, st.lists(_events, max_size=5), st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**58))
_kinds = st.dictionaries(_names, st.dictionaries(st.sampled_from(["flops", "module"]), st.integers(0, 9), max_size=2))
_planes = st.builds(
    Plane,
    st.sampled_from(["/host:CPU", "/device:GPU:0", "/device:TPU:1", "é"]),
    st.lists(_lines, max_size=3),
    st.dictionaries(st.just("process_id"), st.integers(0, 2**22)),
    _kinds,
)


@settings(deadline=None)
@given(st.lists(_planes, min_size=1, max_size=3), st.sampled_from([None, BEGAN, 1]))
def test_every_profile_reads_as_its_model(planes, began):
    planes = [*planes, environment(began)] if began else planes
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "host.xplane.pb")
        path.write_bytes(encode(planes))
        trace = et.open_trace(path)
    trace.check()
    assert read_spans(trace) == expected_spans(planes)
    assert not any(trace.metadata["account"][name] for name in ("aggregated", "bad_times", "unnamed", "left_out"))
