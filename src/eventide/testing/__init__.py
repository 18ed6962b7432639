"""Tools for tests of devices and of programs.

conformance    every promise about streams, events and hooks as a check that runs on any device
Budget         limits on host blocking, memory and idle time of a block
"""

from eventide._util.public_names import publish
from eventide.testing import conformance
from eventide.testing._budget import Budget

__all__ = ["Budget", "conformance"]

publish(__name__, globals(), __all__)
