"""Devices: what each can do, and the base of those written in Python. The core's table is native/core/device.hpp."""

from eventide._native import DeviceWork
from eventide.backends._backend import DeviceBackend, MarkerState
from eventide.backends._build import build_library, include_path
from eventide.backends._capabilities import Capabilities
from eventide.backends.sim._device import Sim, configure_sim

__all__ = [
    "Capabilities",
    "DeviceBackend",
    "DeviceWork",
    "MarkerState",
    "Sim",
    "build_library",
    "configure_sim",
    "include_path",
]
