"""The `torch` device where there is no accelerator, and on one: the latter has never been tried."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import eventide as et
from eventide.testing import conformance

torch = pytest.importorskip("torch", reason="needs torch: pip install torch")
pytestmark = pytest.mark.heavy

GPUS = ("torch:cuda", "torch:xpu", "torch:mps")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", GPUS)
def test_the_conformance_kit_on_a_gpu(kind: str) -> None:
    module = getattr(torch, kind.removeprefix("torch:"))
    available = module.is_available() if hasattr(module, "is_available") else torch.backends.mps.is_available()
    if not available:
        pytest.skip(f"there is no accelerator for {kind} here; last verified: never")
    report = conformance.run(kind, limit=240)
    assert report.failed == ()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_an_accelerator_that_is_not_there_is_one_line():
    with pytest.raises(et.DeviceError, match=r"torch 2\.\S+ has no accelerator 'cuda' here"):
        et.Device("torch:cuda")
    assert "torch:cuda" not in {device.type for device in et.devices()}


def test_a_torch_that_is_broken_is_one_line_and_the_rest_works(tmp_path):
    (tmp_path / "torch.py").write_text("raise OSError('libcudart.so.13: cannot open shared object file')")
    code = """if True:
        import eventide as et
        try:
            et.Device("torch:cuda")
        except et.DeviceError as error:
            print(error)
        print(et.Stream("cpu").submit(int, "3").result(60))
        """
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=120)
    assert done.stdout.splitlines() == [
        "torch cannot be used: OSError: libcudart.so.13: cannot open shared object file",
        "3",
    ], done.stderr


class Foreign:
    """A stream of another framework."""

    def __init__(self, answer):
        self.answer = answer

    def __cuda_stream__(self):
        return self.answer


@pytest.mark.parametrize(
    ("thing", "kind", "words"),
    [
        (Foreign((0,)), TypeError, r"must give \(version, address\), not \(0,\)"),
        (Foreign((7, 1)), et.DeviceError, "has version 7; only 0 is supported"),
        (5, TypeError, "Stream.wrap takes a pyopencl.CommandQueue, a torch.Stream or something with __cuda_stream__"),
    ],
)
def test_what_cannot_be_wrapped_is_refused_with_the_reason(thing, kind, words):
    with pytest.raises(kind, match=words):
        et.Stream.wrap(thing)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_cuda_stream_without_a_cuda_device_is_one_line():
    with pytest.raises(et.DeviceError, match="has no accelerator 'cuda' here"):
        et.Stream.wrap(Foreign((0, 0)))


def test_the_error_of_float32_milliseconds_is_what_the_format_says():
    from eventide.backends.torch._clock import float32_error_ns

    assert float32_error_ns(0.0) == 1
    assert float32_error_ns(1000.0) == 62  # after a second: 2**-14 ms
    assert 2_000 <= float32_error_ns(60_000.0) <= 4_000  # after a minute
    assert 120_000 <= float32_error_ns(3_600_000.0) <= 250_000  # after an hour
    import struct

    for ms in (0.3, 17.7, 999.9, 123_456.7):
        stored = struct.unpack("f", struct.pack("f", ms))[0]
        assert abs(stored - ms) * 1e6 <= float32_error_ns(ms)
