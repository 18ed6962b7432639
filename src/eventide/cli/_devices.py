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
    "copy": "has copies of its own",
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


def group(devices: Sequence[DeviceInfo]) -> list[tuple[str, DeviceInfo]]:
    """Neighbours that differ in nothing but their index, under one name such as 'sim:0-7'."""
    groups: list[tuple[str, DeviceInfo]] = []
    for info in devices:
        if groups and _alike(groups[-1][1], info):
            first = groups[-1][1]
            groups[-1] = (f"{first.device}-{info.device.rpartition(':')[2]}", first)
        else:
            groups.append((info.device, info))
    return groups


def show_devices(devices: Sequence[DeviceInfo], console: Console) -> None:
    """Print a column for each group of devices, in as many tables as the width asks for; first what each is."""
    groups = group(devices)
    for title, info in groups:
        console.print(f"[bold]{escape(title)}[/bold]  {escape(info.name)}", highlight=False)
    room = max(1, (console.width - 56) // 12)
    for start in range(0, len(groups), room):
        some = groups[start : start + room]
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("capability", no_wrap=True)
        for title, _ in some:
            table.add_column(escape(title), overflow="fold")
        table.add_column("meaning", style="dim")
        for capability in some[0][1].capabilities:
            values = [_text(info.capabilities[capability]) for _, info in some]
            table.add_row(capability, *values, _MEANINGS.get(capability, ""))
        console.print()
        console.print(table)


def _alike(one: DeviceInfo, other: DeviceInfo) -> bool:
    same_type = one.device.rpartition(":")[0] == other.device.rpartition(":")[0]
    return same_type and one.name == other.name and one.capabilities == other.capabilities


def _text(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else escape(str(value))
