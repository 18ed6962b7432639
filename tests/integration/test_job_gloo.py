"""A real training of four processes over gloo, recorded by `eventide run`: the slow rank is named with its cause."""

from __future__ import annotations

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


def test_the_slowed_rank_of_a_real_training_is_named_with_its_cause(tmp_path):
    (tmp_path / "training.py").write_text(TRAINING, "utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    launch = ["-m", "torch.distributed.run", "--nproc-per-node", "4", "--master-port", port, "training.py"]
    subprocess.run([sys.executable, "-m", "eventide", "run", *launch], cwd=tmp_path, check=True, capture_output=True)
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    done = import_job(folder, tmp_path / "job", processes=1)
    assert done.ranks == 4  # the launcher is no rank
    report = answer(open_job(tmp_path / "job"))
    assert len(report.waiting.rows) == 8
    worst = report.waiting.ranks[0]
    assert worst.rank == 2
    assert worst.cost >= 7 * 3 * 25e6  # of three ranks in at least seven steps, half of the 50 ms or more
    slow = next(each for each in report.stragglers.stragglers if each.rank == 2)
    assert slow.causes[0].what == "host late"
    assert not any("is cut" in text for text in report.hidden)
