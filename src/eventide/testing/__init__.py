"""What tests of devices and of programs stand on.

conformance    every decision about streams, events and hooks as a check that runs on any device
"""

from eventide.testing import conformance

__all__ = ["conformance"]
