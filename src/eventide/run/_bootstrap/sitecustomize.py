"""Loaded by the interpreter before the program: `eventide run` and `check` put this folder in front of PYTHONPATH.

It removes its own traces (path, environment, module table), starts the recording or the sanitizer, and runs the
sitecustomize of the environment. An error here is one line on stderr; the program runs in any case. A child process
may be another Python, even 2.7, which reads this file too.
"""

import importlib
import os
import sys


def _restore_environment():  # type: () -> str
    """Undo what the launcher did to the environment; returns the settings of the recording."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib would slow down the start
    sys.path[:] = [entry for entry in sys.path if entry != here]
    before = [entry for entry in os.environ.pop("PYTHONPATH", here).split(os.pathsep) if entry != here]
    if before:
        os.environ["PYTHONPATH"] = os.pathsep.join(before)
    return os.environ.pop("EVENTIDE_RUN", "")


def _chain():  # type: () -> None
    """Run the sitecustomize that this one shadows, if there is one."""
    this = sys.modules.pop("sitecustomize")
    try:
        importlib.import_module("sitecustomize")
    except ImportError as error:
        sys.modules["sitecustomize"] = this
        if getattr(error, "name", "sitecustomize") != "sitecustomize":
            raise


_settings = _restore_environment()
if _settings:
    try:
        from eventide.run._child import start

        start(_settings)
    except Exception as error:  # noqa: BLE001 - the program must run, recorded or not
        if '"parent": 0' in _settings:  # of a child process the summary says so
            sys.stderr.write("eventide: not recording: %s\n" % error)  # noqa: UP031 - see above
elif os.environ.get("EVENTIDE_SANITIZE"):
    try:
        importlib.import_module("eventide")  # starts the sanitizer and the integrations
    except Exception as error:  # noqa: BLE001 - as above
        sys.stderr.write("eventide: not checking: %s\n" % error)  # noqa: UP031 - see above
_chain()
