"""`eventide devices`: the devices of this machine and what each can do."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import eventide as et

_MEANINGS = {
    "deferred": "work runs when reached, not in submit",
    "timing": "events with enable_timing have times",
    "join_timeout": "waiting for a marker can be bounded",
    "gate": "streams can wait for other device types",
    "copy": "Stream.copy works",
    "host_visible": "the host can read and write its memory",
    "concurrent": "several streams really run at once",
    "priorities": "Stream(priority=...) makes a difference",
    "default_stream_blocks": "the default stream orders all others",
    "heals": "a stream goes on after its error",
    "clock": "the clock of its event times",
}


@dataclass(frozen=True)
class DeviceInfo:
    """One device."""

    device: str  # "cpu:0"
    name: str
    capabilities: dict[str, Any]


def list_devices() -> list[DeviceInfo]:
    """Ask every device what it can do."""
    return [DeviceInfo(str(device), device.name, dataclasses.asdict(device.capabilities)) for device in et.devices()]


def show_devices(devices: Sequence[DeviceInfo], console: Console) -> None:
    """Print a column for each device, in as many tables as the width asks for."""
    room = max(1, (console.width - 56) // 14)
    for start in range(0, len(devices), room):
        some = devices[start : start + room]
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("capability", no_wrap=True)
        for info in some:
            table.add_column(escape(f"{info.device}\n{info.name}"), overflow="fold")
        table.add_column("meaning", style="dim")
        for capability in some[0].capabilities:
            values = [_text(info.capabilities[capability]) for info in some]
            table.add_row(capability, *values, _MEANINGS.get(capability, ""))
        if start:
            console.print()
        console.print(table)


def _text(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else escape(str(value))
