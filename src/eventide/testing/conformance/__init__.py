"""The conformance kit: the promises of docs/semantics.md as checks that run on any device by name.

    conformance.run("mydevice")                          a Report; nothing but Eventide is needed
    test_mydevice = conformance.pytest_test("mydevice")  in a test file: one case a check
    eventide conformance --device mydevice               on the command line

A check uses the public API only. What the device says it cannot do is skipped, with the capability's name. Every wait
is bounded, and a check that hangs has failed: the others go on. What belongs to a process and not to a device (Ctrl-C,
fork, exit) is left to Eventide's own tests.

    _check    what a check is            _expect   what a check says             _run      one check, all checks
    _bench    what it works with         _hold     how it holds a stream         _tools    small things it uses
    checks/   the checks, a file for each group of promises                      _report   what came out
"""

from eventide.testing.conformance._check import Check
from eventide.testing.conformance._report import Outcome, Report
from eventide.testing.conformance._run import CHECKS, pytest_test, run, run_check

__all__ = ["CHECKS", "Check", "Outcome", "Report", "pytest_test", "run", "run_check"]

for _name in __all__:
    if _name != "CHECKS":
        globals()[_name].__module__ = __name__
