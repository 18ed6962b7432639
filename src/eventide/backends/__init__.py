"""Devices: what each can do. The table that a device supplies is native/core/device.hpp."""

from eventide.backends._capabilities import Capabilities

__all__ = ["Capabilities"]
