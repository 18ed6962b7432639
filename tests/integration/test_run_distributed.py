"""A gloo training under `eventide run`: one directory, each rank named, and the slow rank with its cause."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import eventide as et

pytestmark = pytest.mark.heavy
pytest.importorskip("torch", reason="torch is not installed")
TIMEOUT = 300

TRAIN = """
import os, sys, time
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def slow_augment():
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        sum(range(500))

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
model = DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for step in range(12):
    if rank == 2 and sys.argv[1] == "slow":
        slow_augment()
    if rank == 1 and step == 6 and sys.argv[1] == "killed":
        os.kill(os.getpid(), 9)
    optimizer.zero_grad()
    model(torch.randn(8, 64)).square().mean().backward()
    optimizer.step()
dist.all_reduce(torch.ones(1000))
dist.destroy_process_group()
"""


def trained(folder: Path, how: str) -> tuple[subprocess.CompletedProcess[str], dict, dict[int, et.Trace]]:
    """The run of four ranks, its summary, and the recordings by rank."""
    (folder / "train.py").write_text(TRAIN)
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "4", "train.py", how]
    command = [sys.executable, "-m", "eventide", "run", "--json", "s.json", *launcher]
    variables = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, timeout=TIMEOUT, check=False, env=variables
    )
    (made,) = (path for path in folder.iterdir() if path.is_dir())
    traces = [et.open_trace(file) for file in made.iterdir()]
    ranks = {trace.metadata["process"]["rank"]: trace for trace in traces}
    return run, json.loads((folder / "s.json").read_text())["processes"], ranks


def test_the_slow_rank_of_a_training_is_found_with_its_cause(tmp_path):
    run, found, ranks = trained(tmp_path, "slow")
    assert run.returncode == 0, run.stderr
    assert set(ranks) == {None, 0, 1, 2, 3}
    assert {row["name"] for row in found["rows"]} >= {"rank 0", "rank 1", "rank 2", "rank 3"}
    assert found["straggler"]["rank"] == 2
    assert found["straggler"]["function"] == "slow_augment (train.py)"
    assert "the other ranks waited for rank 2" in run.stderr
    trace = ranks[3]
    trace.check()
    process = trace.metadata["process"]
    assert (process["world_size"], process["local_rank"], process["launcher"]) == (4, 3, "torch")
    rows = trace.sql(
        "select category, args from spans where name = 'gloo:all_reduce' order by start desc limit 1"
    ).fetchall()
    category, args = rows[0][0], json.loads(rows[0][1])
    assert category == "communication"
    assert (args["Process Group Name"], args["Process Group Ranks"]) == ("0", [0, 1, 2, 3])
    assert (args["In msg nelems"], args["bytes"], args["dtype"]) == (1000, 4000, "Float")
    sequences = trace.sql("select args from spans where category = 'communication' order by start").fetchall()
    numbers = [json.loads(row[0])["Seq"] for row in sequences]
    assert numbers == sorted(set(numbers))


def test_a_rank_that_is_killed_loses_nothing_of_the_others(tmp_path):
    run, found, ranks = trained(tmp_path, "killed")
    assert run.returncode == 1  # torchrun's
    codes = {row["name"]: row["code"] for row in found["rows"]}
    assert codes["rank 1"] == -signal.SIGKILL
    assert set(ranks) == {None, 0, 1, 2, 3}
    assert "killed by SIGKILL" in run.stderr
    for rank in range(4):
        count = ranks[rank].sql("select count(*) from spans where name = 'gloo:all_reduce'").fetchall()[0][0]
        assert count >= 5, rank
