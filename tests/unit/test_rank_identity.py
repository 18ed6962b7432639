"""Rank and world size of a recorded process come from the variables of its launcher, and a worker is not a rank."""

import os

import pytest

import eventide as et
from eventide.recording import _identity

TORCH = {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "TORCHELASTIC_RUN_ID": "none"}
OPENMPI = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}
MPICH = {"PMI_RANK": "5", "PMI_SIZE": "6"}
SLURM = {"SLURM_PROCID": "7", "SLURM_NTASKS": "8", "SLURM_LOCALID": "7", "SLURM_JOB_ID": "42"}


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        (TORCH, ("torch", 3, 4, 1, "none")),
        (OPENMPI, ("openmpi", 1, 2, 0, None)),
        (MPICH, ("mpich", 5, 6, None, None)),
        (SLURM, ("slurm", 7, 8, 7, "42")),
        (SLURM | TORCH, ("torch", 3, 4, 1, "none")),
    ],
)
def test_the_variables_of_each_launcher(environment, found):
    assert _identity.rank_of(environment) == _identity.Rank(*found)


@pytest.mark.parametrize("rank", ["", "x", "4", "-1", "1e3", "٣", "9" * 5000])
def test_a_rank_that_is_none_is_ignored(rank):
    assert _identity.rank_of(TORCH | {"RANK": rank}) is None
    assert _identity.rank_of(TORCH | SLURM | {"RANK": rank}) == _identity.Rank("slurm", 7, 8, 7, "42")


@pytest.fixture
def rank_three(monkeypatch):
    for name, value in TORCH.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(_identity, "_state", _identity._State())


def recorded():
    with et.Recorder() as recorder:
        et.instant("here")
    return recorder.trace


def test_a_recording_has_the_process_in_its_metadata_and_its_rank_in_the_tracks(rank_three):
    trace = recorded()
    assert trace.metadata["process"] == {
        "host": os.uname().nodename,
        "pid": os.getpid(),
        "parent": os.getppid(),
        "kind": "main",
        "launcher": "torch",
        "rank": 3,
        "world_size": 4,
        "local_rank": 1,
        "job": "none",
        "of_rank": None,
        "clock": _identity.clock_identity(),
    }
    assert trace.tracks.column("rank")[0].as_py() == 3


def test_a_worker_inherits_the_variables_but_is_not_the_rank(rank_three):
    _identity.is_child("fork", 3)
    process = recorded().metadata["process"]
    assert (process["kind"], process["rank"], process["of_rank"]) == ("fork", None, 3)


def test_a_rank_that_was_started_by_another_one_is_a_rank(rank_three):
    _identity.is_child("python", 0)
    process = recorded().metadata["process"]
    assert (process["kind"], process["rank"], process["of_rank"]) == ("python", 3, None)
