"""Loaded by the interpreter before the program: `eventide run` and `check` put this folder in front of PYTHONPATH.

It removes its own traces (path, environment, module table), starts the recording or the sanitizer, and runs the
sitecustomize of the environment. An error here is one line on stderr; the program runs in any case.
"""

import importlib
import os
import sys


def _restore_environment() -> str:
    """Undo what the launcher did to the environment; returns the settings of the recording."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib would slow down the start
    sys.path[:] = [entry for entry in sys.path if entry != here]
    before = os.environ.pop("EVENTIDE_RUN_PYTHONPATH", "")
    os.environ.pop("PYTHONPATH", None)
    if before:
        os.environ["PYTHONPATH"] = before
    return os.environ.pop("EVENTIDE_RUN", "")


def _chain() -> None:
    """Run the sitecustomize that this one hides, if there is one."""
    this = sys.modules.pop("sitecustomize")
    try:
        importlib.import_module("sitecustomize")
    except ModuleNotFoundError as error:
        sys.modules["sitecustomize"] = this
        if error.name != "sitecustomize":
            raise


_settings = _restore_environment()
if _settings:
    try:
        from eventide.run._child import start

        start(_settings)
    except Exception as error:  # noqa: BLE001 - the program must run, recorded or not
        sys.stderr.write(f"eventide: not recording: {error}\n")
elif os.environ.get("EVENTIDE_SANITIZE"):
    try:
        importlib.import_module("eventide")  # starts the sanitizer and the integrations
    except Exception as error:  # noqa: BLE001 - as above
        sys.stderr.write(f"eventide: not checking: {error}\n")
_chain()
