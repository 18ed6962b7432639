"""`eventide devices`: what is listed, and how it fits the terminal."""

import dataclasses
import json
from io import StringIO

import pytest
from rich.console import Console

import eventide as et
from eventide.cli import main
from eventide.cli.commands import _devices


def test_devices_lists_the_cpu_with_every_capability(capsys):
    assert main(["devices", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    cpu = next(info for info in listed if info["device"] == "cpu:0")
    assert set(cpu["capabilities"]) == {field.name for field in dataclasses.fields(et.Capabilities)}
    assert cpu["capabilities"]["deferred"] is True


def test_every_capability_has_a_meaning():
    assert set(_devices.MEANINGS) == {field.name for field in dataclasses.fields(et.Capabilities)}


@pytest.mark.parametrize("count", [1, 3, 9])
def test_the_table_of_devices_fits_the_terminal(count):
    capabilities = dict.fromkeys(_devices.MEANINGS, True)
    infos = [_devices.DeviceInfo(f"kind{i}:0", "virtual time", capabilities) for i in range(count)]
    file = StringIO()
    _devices.show_devices(infos, Console(file=file, width=80, color_system=None))
    assert all(f"kind{i}:0" in file.getvalue() for i in range(count))
    assert max(map(len, file.getvalue().splitlines())) <= 80


def test_devices_that_differ_in_nothing_but_their_index_share_a_column():
    able, unable = {"gate": True}, {"gate": False}
    infos = [_devices.DeviceInfo(f"sim:{i}", "virtual time", able) for i in range(3)]
    infos += [_devices.DeviceInfo("sim:3", "virtual time", unable), _devices.DeviceInfo("cpu:0", "threads", able)]
    assert [title for title, _ in _devices.group(infos)] == ["sim:0-2", "sim:3", "cpu:0"]
