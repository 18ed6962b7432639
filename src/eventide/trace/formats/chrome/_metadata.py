"""The metadata of a Chrome trace: its members beside the events, and warnings of the reader."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

_MAX_TIME = 2**61  # ns, as in the core
# Left out without a warning: Kineto ends an arrow on each call that could have launched work, even if none started
# there.
OWN_ENDS = "arrow that ends on its own call"
HARMLESS = {"empty object", "object", "sample", "memory dump", "clock sync", "context", "link", OWN_ENDS}


@dataclass
class About:
    """The parsed members beside the events."""

    devices: list[Any] = field(default_factory=list)
    distributed: dict[str, Any] = field(default_factory=dict)
    base: int = 0  # ns; the origin of the file's times
    rest: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def rank(self) -> int | None:
        """The rank of this process in its job."""
        return _whole(self.distributed.get("rank"), 31)

    @property
    def world_size(self) -> int | None:
        """How many ranks the job had."""
        return _whole(self.distributed.get("world_size"), 31)


def _whole(value: Any, bits: int) -> int | None:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0 <= number < 2**bits and not isinstance(value, bool) else None


def read_about(members: list[tuple[str, str]]) -> About:
    """Parse the members; of a duplicate key, the last value is used."""
    about = About()
    for key, text in members:
        value = json.loads(text)
        if key in about.rest:
            about.warnings.append(f"{key!r} is a duplicate key; the last value is used")
        about.rest[key] = value
    devices, distributed = about.rest.pop("deviceProperties", []), about.rest.pop("distributedInfo", {})
    about.devices = devices if isinstance(devices, list) else [devices]
    about.distributed = distributed if isinstance(distributed, dict) else {}
    base = about.rest.get("baseTimeNanoseconds", 0)
    about.base = base if isinstance(base, int) and not isinstance(base, bool) and abs(base) < _MAX_TIME else 0
    if about.base != base and base is not None:
        about.warnings.append(f"baseTimeNanoseconds is {str(base)[:40]}, which is not a time; 0 is used")
    return about


def clock_of(about: About, is_kineto: bool) -> dict[str, Any]:
    """The clock of the times. Kineto counts from 1970, before 2024 directly and since then from a base."""
    known = is_kineto or about.base
    return {"name": "unix" if known else "unknown", "unit": "ns", "base": about.base}


def ending(how: str, account: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The part of the account about the end of the file, and its warnings."""
    warnings: list[str] = []
    lost = 0
    whole = f"{account['elements']:,} events before it were read"
    if how == "cut":
        lost = account["bytes"] - account["position"]
        warnings.append(
            f"the file ends in the middle of an event: the last {lost:,} of its {account['bytes']:,} bytes are lost; "
            f"the {whole}. Its writer was stopped, or the copy is not complete"
        )
    elif how == "bad":
        lost = account["bytes"] - account["kept"]
        warnings.append(
            f"byte {account['position']:,} is not JSON ({account['message']}): {lost:,} of {account['bytes']:,} bytes "
            f"({lost / max(account['bytes'], 1):.0%}) were not read; the {whole}"
        )
    elif how == "open" and not account["is_array"]:
        warnings.append(f"the file ends after a complete event, without its closing brackets; the {whole}")
    if account["trailing"]:
        warnings.append(f"{account['trailing']:,} bytes after the end of the trace were not read")
    return {"bytes": account["bytes"], "lost_bytes": lost, "end": how}, warnings


def remarks(account: dict[str, Any]) -> list[str]:
    """Other warnings of the reader."""
    found = []
    if account["repaired"]:
        found.append(
            f"{account['repaired']:,} texts were repaired: broken UTF-8, lone surrogates, raw control characters, "
            "unknown escapes or invalid numbers"
        )
    if account["oversized"]:
        found.append(f"{account['oversized']} members beside the events are over 16 MiB and were left out")
    if account["event_arrays"] > 1:
        found.append(f"the file has traceEvents {account['event_arrays']} times; all were read")
    strange = {why: count for why, count in account["ignored"].items() if why not in HARMLESS}
    if strange:
        listed = ", ".join(f"{count:,} ({why})" for why, count in strange.items())
        found.append(f"events were left out: {listed}")
    return found


def describe(about: About, account: dict[str, Any], how: str, counts: dict[str, Any], *broken: str) -> dict[str, Any]:
    """The trace's metadata; `counts` is added to the counts of the core."""
    is_kineto = bool(about.devices or about.distributed or "schemaVersion" in about.rest)
    end, warnings = ending(how, account)
    read = {"events": account["elements"], "ignored": account["ignored"], "repaired": account["repaired"]}
    return {
        "source": "kineto" if is_kineto else "chrome",
        "clock": clock_of(about, is_kineto),
        "account": {**counts, **read, **end},
        "warnings": [*warnings, *filter(None, broken), *about.warnings, *remarks(account)],
        "devices": about.devices,
        "distributed": about.distributed,
        "rank": about.rank,
        "world_size": about.world_size,
        "file": about.rest,
    }
