"""Replay and edits of real traces: how much of each the model explains, and answers that are known."""

from __future__ import annotations

import numpy as np
import pytest

import eventide as et
from eventide.analysis import View, best_edits, drop_sync, remove, replay, scale, steps_of, what_if
from eventide.analysis.schedule._inferred_edges import completed
from eventide.analysis.schedule._latencies import latencies_of
from eventide.analysis.schedule._replay import HostClock, lengths_of, modelled
from tests.integration.processes import ROOT

FOLDER = ROOT.parent / "shared" / "traces"
TRACES = sorted(FOLDER.glob("**/*.json.gz"))
pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(not TRACES, reason="needs the folder of real traces, ../shared/traces"),
]


def opened(name: str) -> et.Trace:
    return et.open_trace(FOLDER / f"{name}.json.gz")


def test_the_unedited_replay_is_the_recording():
    whole, parts = [], []
    for path in TRACES:
        found = replay(et.open_trace(path))
        whole.append(found.error)
        assert f"the model does not explain {100 * found.error:.2f} %" in str(found)
        parts += [abs(row.error) for row in found.rows[1:]]  # the end of the devices, and each step
        worst = max(found.rows[1:], key=lambda row: abs(row.error), default=None)
        if worst is not None and abs(worst.error) > 0.01:
            assert f"{100 * abs(worst.error):.2f} % of" in str(found)
            assert worst.name in str(found)
    for errors in (whole, parts):
        assert np.median(errors) <= 0.003
        assert np.percentile(errors, 90) <= 0.01


@pytest.mark.parametrize("first", [0, 1])
# One step of nvidia_compare_after: in the second half of its backward pass copies take six times as long and the gaps
# of the stream 7 us instead of 1, for a reason that the trace does not hold.
@pytest.mark.parametrize(("name", "worst"), [("nvidia_compare_before", 0.02), ("nvidia_compare_after", 0.035)])
def test_lags_measured_in_every_other_step_replay_the_rest(name, worst, first):
    view = View(opened(name))
    steps = steps_of(view)
    network = completed(view)
    used = np.zeros(len(network.at), bool)
    for step in steps[first::2]:
        used |= (network.at >= step.start) & (network.at < step.end)
    model = modelled(network, used)
    assert (model.latencies.lag != latencies_of(network).lag).any()
    replayed = lengths_of(view, steps, HostClock(network, model.schedule))
    recorded = np.array([step.duration for step in steps])[1 - first :: 2]
    off = np.array(replayed)[1 - first :: 2] - recorded
    assert abs(off.sum()) <= 0.02 * recorded.sum()
    assert np.median(np.abs(off) / recorded) <= 0.01
    assert (np.abs(off) / recorded).max() <= worst


def test_the_launch_queue_is_found_and_kernels_twice_as_fast_save_what_it_allows():
    trace = opened("nvidia_training_rank0")
    ((_, depth),) = replay(trace).queues.items()
    assert abs(depth - 1022) <= 2
    found = what_if(trace, scale("*", 0.5))
    assert 0.45 <= found.saved / found.wall <= 0.49
    found.trace.check()


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.removesuffix(".json.gz"))
def test_other_traces_have_no_queue(path):
    if path.name != "nvidia_training_rank0.json.gz":
        assert replay(et.open_trace(path)).queues == {}


def test_without_its_loader_a_run_is_at_best_as_long_as_its_devices_take():
    trace = opened("nvidia_resnet50_loader0")
    found = what_if(trace, remove("enumerate(DataLoader)*"))
    assert found.at_best
    # Without the loader's own time it would take 650 ms, if nothing else changed. But each step copies its batch from
    # pageable memory, and such a copy waits for its stream: without the loader, for the end of the step before it.
    alone = found.wall - time_of(trace, "enumerate(DataLoader)")
    waiting = time_of(found.trace, "cudaMemcpyAsync") - time_of(trace, "cudaMemcpyAsync")
    assert 0.645 <= alone / 1e9 <= 0.655
    assert 0.055 <= waiting / 1e9 <= 0.070
    assert abs(found.predicted - alone - waiting) <= 2_000_000
    found.trace.check()
    apart = what_if(trace, remove("enumerate(DataLoader)*"), drop_sync())
    assert 0.630 <= apart.predicted / 1e9 <= 0.670


def time_of(trace: et.Trace, name: str) -> int:
    """The time of all calls whose names begin so."""
    view = View(trace)
    mine = np.array([each.startswith(name) for each in view.names], dtype=bool)
    return int(view.duration[mine[view.name]].sum())


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.removesuffix(".json.gz"))
def test_every_edited_trace_holds_together_and_scaling_by_one_changes_nothing(path):
    trace = et.open_trace(path)
    same = what_if(trace, scale("*", 1))
    assert same.saved == 0
    same.trace.check()


def test_the_best_edits_of_a_trace_are_edits_that_it_can_have():
    trace = opened("nvidia_compare_before")
    found = best_edits(trace)
    assert len(found.rows) == 10
    assert any(row.call == str(drop_sync()) for row in found.rows)
    assert all(row.low <= row.saved <= row.high for row in found.rows)
