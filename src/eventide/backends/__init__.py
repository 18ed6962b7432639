"""Devices: their capabilities, and the base class of devices written in Python. Their interface in the core:
native/core/runtime/device.hpp.

_backend    DeviceBackend, Capabilities    registry    devices by type, created on first use
_build      C++ plug-ins     sim/  opencl/  torch/                     the devices of the package
"""

from eventide._native import DeviceWork
from eventide._util.public_names import publish
from eventide.backends._backend import Capabilities, DeviceBackend, MarkerState
from eventide.backends._build import build_library, import_library, include_path
from eventide.backends.sim._device import Sim, configure_sim

__all__ = [
    "Capabilities",
    "DeviceBackend",
    "DeviceWork",
    "MarkerState",
    "Sim",
    "build_library",
    "configure_sim",
    "import_library",
    "include_path",
]

publish(__name__, globals(), __all__)
