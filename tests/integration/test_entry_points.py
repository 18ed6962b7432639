"""An installed package provides its device: by an entry point, when the device is named."""

import re
import subprocess
import sys
import textwrap

import pytest

DEVICE = """
    from examples.tiny_device import Tiny

    class Offered(Tiny):
        "A device of another package."
        type = "offered"
"""


@pytest.fixture
def installed(tmp_path):
    """A folder with what pip leaves behind for a package with two entry points, one of them broken."""
    (tmp_path / "offered_device.py").write_text(textwrap.dedent(DEVICE))
    info = tmp_path / "offered-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: offered\nVersion: 1.0\n")
    points = "[eventide.backends]\noffered = offered_device:Offered\nbroken = offered_device:Missing\n"
    (info / "entry_points.txt").write_text(points)
    return tmp_path


def run(folder, program):
    code = f"import sys; sys.path[:0] = [{str(folder)!r}, '.']\nimport eventide as et\n{textwrap.dedent(program)}"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


def test_a_device_of_an_installed_package_is_loaded_when_it_is_named(installed):
    ended = run(installed, "print(et.Stream('offered:1').submit(pow, 2, 5).result(10), et.Device('offered').name)")
    assert (ended.stdout, ended.stderr) == ("32 A device of another package.\n", "")


def test_the_error_for_an_unknown_device_lists_devices_of_installed_packages(installed):
    ended = run(installed, "et.Device('gpu')")
    assert re.search(r"there is no device type 'gpu'; there are cpu, sim, (opencl, )?offered, broken", ended.stderr)


def test_a_device_that_cannot_be_loaded_is_one_line_in_the_list_of_devices(installed):
    ended = run(installed, "print([d.type for d in et.devices() if d.type in ('cpu', 'offered', 'broken')])")
    assert ended.stdout == "['cpu', 'offered', 'offered']\n"
    assert ended.stderr.count("device type 'broken' is not available: device type 'broken' of offered_device:Mis") == 1


def test_an_entry_point_that_cannot_be_loaded_is_named_with_the_reason(installed):
    ended = run(installed, "et.Device('broken')")
    assert "DeviceError: device type 'broken' of offered_device:Missing cannot be loaded" in ended.stderr
    assert "Missing" in ended.stderr


def test_importing_eventide_loads_no_backend(installed):
    ended = run(installed, "print('offered_device' in sys.modules, 'importlib.metadata' in sys.modules)")
    assert ended.stdout.split()[0] == "False"
