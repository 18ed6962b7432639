"""Which process of a job this is: host, rank and world size, as its launcher has put them into the environment.

A child process inherits the variables of its parent. It is not that rank, but one of its workers: `of_rank`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple


class _Launcher(NamedTuple):
    """The names of the variables that a launcher sets."""

    name: str
    rank: str
    world_size: str
    local_rank: str
    job: str


# The first with a rank counts: torchrun may run below Slurm, and its ranks are those of the program.
_LAUNCHERS = (
    _Launcher("torch", "RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RUN_ID"),
    _Launcher(
        "openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "PMIX_NAMESPACE"
    ),
    _Launcher("mpich", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "PMI_JOBID"),
    _Launcher("slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_JOB_ID"),
)


class Rank(NamedTuple):
    """One process of a job with `world_size` of them."""

    launcher: str
    rank: int
    world_size: int
    local_rank: int | None
    job: str | None


class _State:
    """What the parent of this process was, if it recorded too."""

    kind: str = "main"
    of_rank: int | None = None


_state = _State()


def rank_of(environment: Mapping[str, str]) -> Rank | None:
    """The rank in an environment; None if no launcher has set one."""
    for launcher in _LAUNCHERS:
        rank, size = _number(environment, launcher.rank), _number(environment, launcher.world_size)
        if rank is not None and size is not None and rank < size:
            local, job = _number(environment, launcher.local_rank), environment.get(launcher.job)
            return Rank(launcher.name, rank, size, local, job)
    return None


def is_child(kind: str, parent_rank: int | None) -> None:
    """This process was started by a process that is recorded too, and that has this rank."""
    _state.kind, _state.of_rank = kind, parent_rank


def identity() -> dict[str, Any]:
    """What a recording has as `metadata["process"]`."""
    found = rank_of(os.environ)
    ours: dict[str, Any] = {
        "host": os.uname().nodename,
        "pid": os.getpid(),
        "parent": os.getppid(),
        "kind": _state.kind,
        "launcher": None,
        "rank": None,
        "world_size": None,
        "local_rank": None,
        "job": None,
        "of_rank": _state.of_rank,
        "clock": clock_identity(),
    }
    if found is not None and (_state.of_rank is None or found.rank != _state.of_rank):
        ours |= {**found._asdict(), "of_rank": None}
    return ours


def clock_identity() -> str | None:
    """The same for all processes that share a CLOCK_MONOTONIC: one boot of one kernel, one time namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        own = Path("/proc/self/ns/time")
        namespace = str(own.readlink()) if own.is_symlink() else ""  # a kernel without it has one clock
    except OSError:
        return None
    return hashlib.sha256(f"{boot} {namespace}".encode()).hexdigest()[:16]


def _number(environment: Mapping[str, str], name: str) -> int | None:
    text = environment.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
