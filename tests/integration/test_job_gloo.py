"""A real training of four processes over gloo, recorded by `eventide run`: the slow rank is named with its cause."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys

import pytest

from eventide.jobs import answer, import_job, open_job

pytestmark = pytest.mark.heavy
pytest.importorskip("torch", reason="torch is not installed")

TRAINING = """
import time
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
weight, data = torch.zeros(64, 64), torch.ones(16, 64)
for step in range(8):
    if dist.get_rank() == 2:
        time.sleep(0.05)
    gradient = data.T @ (data @ weight)
    dist.all_reduce(gradient)
    weight -= 0.01 * gradient
dist.destroy_process_group()
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def test_the_slowed_rank_of_a_real_training_is_named_with_its_cause(tmp_path):
    (tmp_path / "training.py").write_text(TRAINING, "utf-8")
    launch = ["-m", "torch.distributed.run", "--nproc-per-node", "4", "--master-port", free_port(), "training.py"]
    subprocess.run([sys.executable, "-m", "eventide", "run", *launch], cwd=tmp_path, check=True, capture_output=True)
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    done = import_job(folder, tmp_path / "job", processes=1)
    assert done.ranks == 4  # the launcher is no rank
    job = open_job(tmp_path / "job")
    assert (job.world_size, len({rank.identity for rank in job.ranks})) == (4, 1)
    report = answer(job)
    assert len(report.waiting.rows) == 8
    worst = report.waiting.ranks[0]
    assert worst.rank == 2
    assert worst.cost >= 7 * 3 * 25e6  # of three ranks in at least seven steps, half of the 50 ms or more
    slow = next(each for each in report.stragglers.stragglers if each.rank == 2)
    assert slow.causes[0].what == "host late"
    assert report.imbalance.stages[0].slowest == 2
    assert not any("is cut" in text for text in report.hidden)
    # All processes read one clock, so the bound resolves what the ends of the collectives alone only suggest.
    assert report.clocks.worst == pytest.approx(0, abs=1)
    assert {row.resolved for row in report.waiting.rows if row.last == 2} == {"bound"}


AHEAD = 1000  # seconds


def test_two_hosts_with_clocks_of_their_own_measure_them_by_messages(tmp_path):
    """Two of the four processes are in a time namespace, whose CLOCK_MONOTONIC is 1,000 s ahead."""
    ahead = ["unshare", "--time", "--monotonic", str(AHEAD), "--"]
    able = os.geteuid() == 0 and shutil.which("unshare") is not None
    if not able or subprocess.run([*ahead, "true"], check=False, capture_output=True).returncode:
        pytest.skip("needs root and unshare to make a time namespace")
    port, started = free_port(), []
    for node, clock in enumerate(([], ahead)):
        folder = tmp_path / f"host{node}"
        folder.mkdir()
        (folder / "training.py").write_text(TRAINING, "utf-8")
        launch = ["--nnodes", "2", "--node-rank", str(node), "--nproc-per-node", "2", "--master-addr", "127.0.0.1"]
        command = [sys.executable, "-m", "eventide", "run", "-m", "torch.distributed.run", *launch, "--master-port"]
        started.append(subprocess.Popen([*clock, *command, port, "training.py"], cwd=folder, stdout=subprocess.DEVNULL))
    assert [each.wait() for each in started] == [0, 0]
    import_job([tmp_path / "host*" / "*" / "*.eventide"], tmp_path / "job", processes=1)
    job = open_job(tmp_path / "job")
    first, second = (rank.identity for rank in job.ranks[1:3])
    assert [rank.identity for rank in job.ranks] == [first, first, second, second]
    assert first != second
    report = answer(job)
    offsets = {clock.rank: clock.offset for clock in report.clocks.ranks}
    for one, other, truth in ((0, 1, 0), (2, 3, 0), (0, 2, AHEAD), (1, 3, AHEAD)):
        assert offsets[other] - offsets[one] == pytest.approx(1e9 * truth, abs=2 * report.clocks.worst + 1)
    # Rank 2 is always 50 ms late: by the collectives alone its clock may be ahead by that.
    assert report.clocks.worst < 20e6
    assert report.waiting.ranks[0].rank == 2
    assert {row.resolved for row in report.waiting.rows if row.last == 2} == {"bound"}
