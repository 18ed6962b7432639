"""What several rules ask of a report."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from eventide.analysis import Gap, Lane, Syncs
from eventide.report._gather import Report

_TO_DEVICE = re.compile(
    r"^(?!.*pinned).*([HM](to|2)D(?![a-z])|Host(_to_| -> |2|To)Device|(Pageable|Memory) -> Device)", re.IGNORECASE
)


def is_torch(metadata: Mapping[str, Any]) -> bool:
    """True if torch.profiler wrote the trace."""
    return metadata.get("source") == "kineto"


def kind_of(device: str) -> str:
    """cuda, of `cuda:0` and of `rank 3 cuda:0`."""
    return device.rsplit(maxsplit=1)[-1].partition(":")[0]


def worst_gap(report: Report, lane: Lane, cause: str) -> Gap | None:
    """The gap of a device with the most time of a cause."""
    gaps = report.idle.worst(1, cause, lane.device)
    return gaps[0] if gaps else None


def mostly_copies(syncs: Syncs) -> bool:
    """Whether copies to the device of memory that is not pinned took most of the blocked time.

    A copy from the device is for a result, which is needed anyway.
    """
    copies = (sync for sync in syncs.each if _TO_DEVICE.search(sync.waited_for or ""))
    return sum(sync.duration for sync in copies) * 2 > syncs.total


def mostly_launches(syncs: Syncs) -> bool:
    """Whether most of the blocked time is in calls that launched work and waited for it."""
    return sum(sync.duration for sync in syncs.each if sync.launching) * 2 > syncs.total


_UNSET = {"cuda": "unset CUDA_LAUNCH_BLOCKING", "hip": "unset AMD_SERIALIZE_KERNEL and HIP_LAUNCH_BLOCKING"}


def launch_ahead(report: Report) -> str | None:
    """How to make the launches of these devices return at once; None where it is not known."""
    ways = {_UNSET.get(kind_of(lane.device)) for lane in report.idle.lanes}
    return ways.pop() if len(ways) == 1 else None
