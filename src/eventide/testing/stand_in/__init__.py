"""A stand-in for an accelerator of torch's: torch.Stream, torch.Event and torch.accelerator on Eventide's cpu streams.

    from eventide.testing import stand_in
    device = stand_in.install()                       # 'torch:mtia', with two devices
    torch.Stream(), torch.Event(enable_timing=True)   # run on Eventide

It compiles stand_in.cpp, a device guard for the type MTIA over eventide/device.h, and must come before anything else
queries torch for accelerators. There are no tensors on it. It tests that programs and our `torch` device use the
interface correctly: order, versions, timing, errors. It does not show how a GPU behaves.

    _install.py    build, load, register        stand_in.cpp    the guard
"""

from eventide.testing.stand_in._install import StandIn, install, underlying

__all__ = ["StandIn", "install", "underlying"]
