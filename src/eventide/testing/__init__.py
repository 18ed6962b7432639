"""What tests of devices and of programs stand on.

conformance    every promise about streams, events and hooks as a check that runs on any device
Budget         how often code blocks the host, how much it allocates, how long its streams are idle
"""

from eventide.testing import conformance
from eventide.testing._budget import Budget

__all__ = ["Budget", "conformance"]
