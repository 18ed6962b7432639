"""The wheel as users install it: in a separate environment, without the sources and without a compiler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.integration.processes import ROOT

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]


class Installed:
    """An environment that holds the wheel; its commands see nothing else of this machine."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder, self.wheel = folder / "somewhere", wheel
        self.folder.mkdir()
        venv.create(folder / "env", with_pip=True)
        self.bin = folder / "env" / "bin"
        self.run("pip", "install", "--quiet", "--disable-pip-version-check", str(wheel), PATH=os.environ["PATH"])

    def run(self, command: str, *arguments: str, code: int = 0, **environment: str) -> str:
        unwanted = ("PYTHON", "COVERAGE", "LD_", "CXX", "CC", "PIP_TARGET")
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(unwanted)}
        env = {**inherited, "PATH": str(self.bin), "COLUMNS": "80", **environment}
        done = subprocess.run(
            [str(self.bin / command), *arguments],
            cwd=self.folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == code, (
            f"{command} {' '.join(arguments)} -> {done.returncode}\n{done.stdout}{done.stderr}"
        )
        return done.stderr if code else done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-build-isolation", f"--config-settings=build-dir={folder}/build"]
    command += ["--wheel-dir", str(folder), str(ROOT)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = folder.glob("*.whl")
    return Installed(folder, wheel)


def test_the_distribution_has_a_name_of_its_own_and_the_package_is_the_installed_one(installed: Installed) -> None:
    assert installed.wheel.name.startswith("eventide_trace-")
    program = "import eventide as et, importlib.metadata as m; print(m.version('eventide-trace'), et.__version__)"
    version, same = installed.run("python", "-c", program).split()
    assert version == same
    file = installed.run("python", "-c", "import eventide as et; print(et.__file__)")
    assert file.startswith(str(installed.bin.parent))


def test_the_demo_names_both_lines_of_the_race_and_its_recording_can_be_reported(installed: Installed) -> None:
    said = json.loads(installed.run("eventide", "demo", "--runs", "2", "--json"))["sanitizer"]
    assert said["first"]["code"] == "loss = train.submit(step, slot, labels, w1, w2)"
    assert said["second"]["code"] == "load.submit(fill, packed, slot)"
    assert Path(said["first"]["file"]).is_relative_to(installed.bin.parent)
    report = json.loads(installed.run("eventide", "report", "demo.eventide", "--json"))
    assert {"findings", "idle", "breakdown"} <= set(report)
    assert "train" in installed.run("eventide", "report", "demo.pftrace")


def test_the_demo_prints_its_findings_as_text(installed: Installed) -> None:
    text = installed.run("eventide", "demo", "--runs", "1")
    assert "the slot at line" in text
    assert "eventide/examples/prefetch.py" in text


def test_the_cpu_device_passes_the_conformance_kit(installed: Installed) -> None:
    document = json.loads(installed.run("eventide", "conformance", "--device", "cpu", "--json"))
    assert document["version"] == installed.run("python", "-c", "import eventide; print(eventide.__version__)").strip()
    assert not [one for one in document["outcomes"] if one["status"] == "failed"]


def test_the_error_of_a_device_that_must_be_compiled_names_what_is_missing(installed: Installed) -> None:
    source = installed.folder / "device.cpp"
    source.write_text("int nothing;\n")
    program = f"import eventide as et; et.Device.build('mine', sources=[{str(source)!r}])"
    error = installed.run("python", "-c", program, code=1)
    assert error.splitlines()[-1].endswith("install g++ or clang++, or name one in the environment variable CXX")
