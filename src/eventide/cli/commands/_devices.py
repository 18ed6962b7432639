"""`eventide devices`: the devices of this machine and their capabilities."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import eventide as et
from eventide.cli import _output
from eventide.cli._app import app
from eventide.cli._arguments import Json

MEANINGS = {
    "deferred": "work runs later, not inside submit",
    "timing": "events with enable_timing have timestamps",
    "join_timeout": "waiting for a marker can have a timeout",
    "gate": "streams can wait for other device types",
    "copy": "has its own copy operations",
    "host_visible": "the host can read and write its memory",
    "concurrent": "several streams run at the same time",
    "priorities": "Stream(priority=...) has an effect",
    "default_stream_blocks": "the default stream orders all others",
    "heals": "a stream continues after its error",
    "clock": "the clock of its event timestamps",
}
_TEXT_COLUMNS, _DEVICE_COLUMNS = 56, 12  # of the terminal: capability and meaning; one device


@dataclass(frozen=True)
class DeviceInfo:
    """One device."""

    device: str  # "cpu:0"
    name: str
    capabilities: dict[str, Any]


@app.command()
def devices(as_json: Json = False) -> None:
    """List the devices and their capabilities."""
    found = [DeviceInfo(str(device), device.name, dataclasses.asdict(device.capabilities)) for device in et.devices()]
    if as_json:
        _output.print_json(found)
    else:
        show_devices(found, _output.stdout())


def group(devices: Sequence[DeviceInfo]) -> list[tuple[str, DeviceInfo]]:
    """Neighbours that differ only in their index share one name, such as 'sim:0-7'."""
    groups: list[tuple[str, DeviceInfo]] = []
    for info in devices:
        if groups and _alike(groups[-1][1], info):
            first = groups[-1][1]
            groups[-1] = (f"{first.device}-{info.device.rpartition(':')[2]}", first)
        else:
            groups.append((info.device, info))
    return groups


def show_devices(devices: Sequence[DeviceInfo], console: Console) -> None:
    """Print the names, then a column for each group of devices, in as many tables as the width requires."""
    groups = group(devices)
    for title, info in groups:
        console.print(f"[bold]{escape(title)}[/bold]  {escape(info.name)}", highlight=False)
    per_table = max(1, (console.width - _TEXT_COLUMNS) // _DEVICE_COLUMNS)
    for start in range(0, len(groups), per_table):
        some = groups[start : start + per_table]
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("capability", no_wrap=True)
        for title, _ in some:
            table.add_column(escape(title), overflow="fold")
        table.add_column("meaning", style="dim")
        for capability in some[0][1].capabilities:
            values = [_text(info.capabilities[capability]) for _, info in some]
            table.add_row(capability, *values, MEANINGS.get(capability, ""))
        console.print()
        console.print(table)


def _alike(one: DeviceInfo, other: DeviceInfo) -> bool:
    same_type = one.device.rpartition(":")[0] == other.device.rpartition(":")[0]
    return same_type and one.name == other.name and one.capabilities == other.capabilities


def _text(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else escape(str(value))
