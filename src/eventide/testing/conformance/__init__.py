"""The conformance kit: the promises of docs/semantics.md as checks that run on any device by name.

    conformance.run("mydevice")                          a Report; nothing but Eventide is needed
    test_mydevice = conformance.pytest_test("mydevice")  in a test file: one case a check
    eventide conformance --device mydevice               on the command line

A check uses the public API only. A check of a capability that the device lacks is skipped, with its name. Every wait
is bounded, and a check that hangs has failed: the others continue. Properties of a process rather than of a device
(Ctrl-C, fork, exit) are left to Eventide's own tests.

    _check    the type of a check        _expect   assertions with messages      _run      one check, all checks
    _bench    the resources of a check   _hold     ways to hold a stream         _tools    small helpers
    checks/   the checks, a file for each group of promises                      _report   the results
    _promises the names of the promises
"""

from eventide._util.public_names import publish
from eventide.testing.conformance._check import Check
from eventide.testing.conformance._report import Outcome, Report
from eventide.testing.conformance._run import CHECKS, pytest_test, run, run_check

__all__ = ["CHECKS", "Check", "Outcome", "Report", "pytest_test", "run", "run_check"]

publish(__name__, globals(), __all__)
