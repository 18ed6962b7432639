"""Rules about what devices did: time with communication alone and with copies alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from eventide.report._gather import Report
from eventide.report.rules._facts import is_torch
from eventide.report.rules._rule import Match, rule

_ON_DEVICE = re.compile(r"[DP](to|2)[DP](?![a-z])|Device(_to_| -> |2|To)Device|Peer|memset", re.IGNORECASE)
_SHOWN = 2  # devices with a sentence of their own


@rule(
    "exposed-communication",
    condition="A device ran communication and nothing else for 2 % of the time or more.",
    says=(
        "{device}: {exposed:time} of {total:time} communication is exposed ({exposed:of wall} of the time); "
        "{hidden:of total} is hidden behind other work."
    ),
    remedy="Start collectives earlier (gradient buckets, prefetch) so that they run beside computation.",
)
def exposed_communication(report: Report) -> Iterator[Match]:
    """Communication that nothing hides is the price of more devices."""
    return islice(_communication(report), _SHOWN)


def _communication(report: Report) -> Iterator[Match]:
    for device in report.breakdown.devices:
        whole = device.whole
        exposed, total = whole.communication, whole.any_of("communication")
        if exposed and exposed * 50 >= whole.wall:
            values = {"device": device.device, "exposed": exposed, "total": total, "hidden": total - exposed}
            yield Match(exposed / whole.wall, {**values, "wall": whole.wall})


@rule(
    "exposed-copies",
    condition="A device ran copies and nothing else for 5 % of the time or more.",
    says=(
        "{device}: {exposed:time} with nothing but copies ({exposed:of wall})"
        "[, most in {name:name 50} ({count:number} times)]."
    ),
    remedy="Overlap copies with computation: [{how}, ]a stream of their own.",
)
def exposed_copies(report: Report) -> Iterator[Match]:
    """Copies can run beside computation on most devices."""
    return islice(_copies(report), _SHOWN)


def _copies(report: Report) -> Iterator[Match]:
    rows = [row for row in report.summary.device if row.category == "copy"]
    rows = rows if len(report.breakdown.devices) == 1 else []  # the rows are of all devices
    how = "pinned memory, non_blocking=True" if is_torch(report.metadata) else "pinned memory"
    if rows and _ON_DEVICE.search(rows[0].name):
        how = ""
    for device in report.breakdown.devices:
        whole = device.whole
        if whole.copy and whole.copy * 20 >= whole.wall:
            values = {
                "device": device.device,
                "exposed": whole.copy,
                "wall": whole.wall,
                "name": rows[0].name if rows else None,
                "count": rows[0].count if rows else None,
                "how": how or None,
            }
            yield Match(whole.copy / whole.wall, values)
