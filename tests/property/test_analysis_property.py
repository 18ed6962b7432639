"""Random traces: parts sum to their whole, and arrays give what plain Python gives tick by tick."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from eventide.analysis import View, breakdown, compare, critical_path, idle, memory, summary, syncs
from eventide.analysis._host_calls import blocking_of
from eventide.analysis._nesting import nests_of
from tests.reference import analysis as oracle
from tests.reference.critical_path import path_of
from tests.trace_builder import Builder

CALLS = ("cudaMalloc", "cudaStreamWaitEvent", "cudaEventQuery", "aten::add")
COPIES = ("cudaMemcpyAsync", "hipMemcpyWithStream")
COPIED = (
    "Memcpy DtoH (Device -> Pageable)",
    "Memcpy (Device -> Host)",
    "Memcpy (Host -> Pinned)",
    "Memcpy (Device -> Device)",
)
Draw = Callable[[st.SearchStrategy[Any]], Any]


@st.composite
def builders(draw: Draw) -> Builder:
    """One device, up to three streams and two threads; launches, waits and synchronizations as programs make them."""
    b = Builder()
    time = st.integers(0, 30)
    length = st.integers(0, 8)
    threads = draw(st.integers(1, 2))
    for _ in range(draw(st.integers(0, 6))):
        start, name = draw(time), draw(st.sampled_from(CALLS))
        category = "op" if name == "aten::add" else draw(st.sampled_from(["runtime", "compile"]))
        b.span(b.thread(draw(st.integers(1, threads))), name, start, start + draw(length), category)
    works: list[int] = []
    ends: dict[int, int] = {}
    for _ in range(draw(st.integers(0, 6))):
        stream, asked = draw(st.integers(7, 9)), draw(time)
        start = max(asked + draw(st.integers(0, 3)), ends.get(stream, 0) - draw(st.sampled_from([0, 0, 1, 2])))
        ends[stream] = max(start + draw(length), ends.get(stream, 0))
        category = draw(st.sampled_from(["kernel", "kernel", "copy", "communication"]))
        if draw(st.integers(0, 5)):
            call = (asked, asked + draw(st.integers(0, 8)))
            said = {"called": draw(st.sampled_from(COPIES)), "name": draw(st.sampled_from(COPIED))}
            said = said if category == "copy" else {"called": "cudaLaunchKernel", "name": "k"}
            work = b.launch(
                call, said["name"], start, ends[stream], stream, called=said["called"], category=category,
                tid=draw(st.integers(1, threads)),
            )  # fmt: skip
        else:
            work = b.work("orphan", start, ends[stream], stream, category)
        earlier = [other for other in works if b._spans[other]["start"] + b._spans[other]["duration"] <= start]
        if earlier and draw(st.booleans()):
            b.edge("wait", draw(st.sampled_from(earlier)), work)
        works.append(work)
    for _ in range(draw(st.integers(0, 2))):
        start = draw(time)
        name = draw(st.sampled_from(["cudaStreamSynchronize", "cudaDeviceSynchronize"]))
        sync = b.call(name, start, start + draw(length), draw(st.integers(1, threads)), "sync")
        end = b._spans[sync]["start"] + b._spans[sync]["duration"] + draw(st.sampled_from([0, 3]))
        done = [work for work in works if b._spans[work]["start"] + b._spans[work]["duration"] <= end]
        if done and draw(st.booleans()):
            b.edge("synchronize", draw(st.sampled_from(done)), sync)
    if not b._spans:
        b.span(b.thread(), "aten::add", 0, 1)
    return b


def model(b: Builder) -> oracle.Model:
    return oracle.model_of(b._tracks, b._spans, b._edges)


def joined(pieces: list[Any]) -> list[Any]:
    """Adjacent pieces of one span, joined: where the time of a thread is split does not matter."""
    found: list[Any] = []
    for start, end, kind, row in pieces:
        if found and found[-1][1:] == (start, kind, row):
            found[-1] = (found[-1][0], end, kind, row)
        else:
            found.append((start, end, kind, row))
    return found


@given(builders())
def test_the_breakdown_matches_a_count_of_every_tick(b):
    expected = oracle.breakdown(model(b))
    found = breakdown(b.trace())
    for device in found.devices:
        whole = device.whole
        parts = {"compute": whole.compute, "communication": whole.communication, "copy": whole.copy, "": whole.idle}
        assert {kind: time for kind, time in {**parts, **whole.overlap}.items() if time} == expected
        assert sum(expected.values()) == whole.wall


@given(builders())
def test_self_times_match_a_count_of_every_tick(b):
    view = View(b.trace())
    expected = oracle.self_times(model(b))
    found = dict.fromkeys(expected, 0)
    for nest in nests_of(view).values():
        found.update(zip(nest.rows.tolist(), nest.self_time.tolist(), strict=True))
    assert found == expected
    threads = summary(view)
    assert all(row.recorded + row.unrecorded == threads.wall for row in threads.threads)


@given(builders(), st.sampled_from(["device", "stream"]))
def test_every_idle_tick_has_the_cause_of_the_reference(b, by):
    plain = model(b)
    view = View(b.trace())
    found = idle(view, by)
    groups = list(view.devices.values()) if by == "device" else [[track] for track in view.stream_tracks]
    for lane, streams in zip(found.lanes, groups, strict=True):
        assert lane.causes == oracle.idle(plain, streams)
        assert sum(lane.causes.values()) == lane.idle == lane.wall - lane.busy
    columns = found.table.to_pydict()
    causes = [name for name in columns if name not in {"device", "stream", "start", "duration", "next", "submit"}]
    for row, length in enumerate(columns["duration"]):
        assert sum(columns[cause][row] for cause in causes) == length
    found.worst()


@given(builders())
def test_totals_of_host_names_count_each_moment_once(b):
    assert {(row.name, row.category): row.total for row in summary(b.trace()).host} == oracle.totals(model(b))


@given(builders())
def test_blocking_calls_and_what_they_waited_for_equal_the_reference(b):
    found = blocking_of(View(b.trace()))
    sources = [source if source >= 0 else None for source in found.source.tolist()]
    assert dict(zip(found.rows.tolist(), sources, strict=True)) == oracle.blocking(model(b))


@given(builders())
def test_the_path_has_no_gap_and_equals_the_reference(b):
    found = critical_path(b.trace())
    pieces = [
        (row["start"], row["start"] + row["duration"], row["kind"], row["span"]) for row in found.table.to_pylist()
    ]
    at = found.start
    for start, end, _, _ in pieces:
        assert start == at < end
        at = end
    assert at == found.start + found.wall
    assert sum(found.kinds.values()) == found.wall
    assert joined(pieces) == joined(path_of(model(b)))


@given(builders())
def test_slack_is_never_negative_and_work_on_the_path_has_none(b):
    found = critical_path(b.trace())
    table = found.table.to_pylist()
    on_path = {row["span"] for row in table if row["kind"] in {"compute", "copy", "communication"}}
    tail = table[-1]["kind"] if table else ""
    for row in on_path:
        assert found.slack[row] >= 0
        if tail != "unknown":
            assert found.slack[row] == 0
    assert all(each.slack >= 0 for each in found.next)


@given(builders(), builders())
def test_what_explains_a_difference_sums_to_it(a, b):
    found = compare(a.trace(), b.trace())
    assert sum(part.difference for part in found.parts) == found.difference == found.wall_b - found.wall_a
    one, other = summary(a.trace()), summary(b.trace())
    assert sum(each.difference for each in found.device) == sum(r.total for r in other.device) - sum(
        r.total for r in one.device
    )
    host = sum(row.self_time for row in other.host) - sum(row.self_time for row in one.host)
    assert sum(each.difference for each in found.host) == host


@given(builders())
def test_what_a_synchronization_waited_and_its_return_sum_to_it(b):
    for sync in syncs(b.trace()).each:
        if sync.waited is not None and sync.returned is not None:
            assert sync.waited + sync.returned == sync.duration
            assert min(sync.waited, sync.returned) >= 0


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.integers(1, 9)), max_size=20))
def test_the_peak_of_memory_is_the_highest_sum_of_what_was_held(steps):
    b = Builder()
    held: dict[int, int] = {}
    sums = []
    for time, (allocate, handle, size) in enumerate(steps):
        if allocate and handle not in held:
            b.operation("memory_allocation", time, device="cpu:0", handle=handle + 1, bytes=size)
            held[handle] = size
        elif not allocate and handle in held:
            b.operation("memory_deallocation", time, device="cpu:0", handle=handle + 1)
            del held[handle]
        sums.append(sum(held.values()))
    for device in memory(b.trace()).devices:
        assert (device.peak, device.end) == (max(sums), sums[-1])
        assert sum(holder.bytes for holder in device.holders) == device.peak
