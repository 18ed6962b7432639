"""What several of these tests begin with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import eventide as et
from tests.helpers import TIMEOUT


@pytest.fixture
def streams() -> Iterator[list[et.Stream]]:
    """Two streams of the cpu, "one" and "two", which are closed at the end."""
    pair = [et.Stream("cpu", name=name) for name in ("one", "two")]
    yield pair
    for stream in pair:
        stream.close(TIMEOUT)


@pytest.fixture(scope="session")
def opencl() -> None:
    """Skip without an OpenCL device that runs a kernel; a driver can be installed and not support this CPU."""
    pytest.importorskip("pyopencl", reason="needs pyopencl")
    from eventide.backends.opencl._probe import find_devices

    devices = find_devices()
    if all(device.fault for device in devices):
        faults = "".join(f"; {device.name}: {device.fault}" for device in devices)
        pytest.skip(f"needs pyopencl and a platform that works: apt-get install pocl-opencl-icd{faults}")


@pytest.fixture
def torch_adapter() -> Iterator[None]:
    """torch's adapter is in."""
    from eventide.integrations.torch import install, uninstall

    install()
    yield
    uninstall()
