"""The recording that `eventide run --pid` starts in a process that already runs: the side of that process.

Python's remote execution calls begin() and end() in its main thread, between two of its instructions. Nothing is raised
into the program and nothing is printed: what happened is in the file STATUS of the folder that both processes use.
"""

from __future__ import annotations

import json
import os
from typing import Any

from eventide.errors import UsageError

STATUS = "status.json"


class _Attached:
    """What this process has of it: at most one recording at a time."""

    def __init__(self) -> None:
        self.recording: Any = None
        self.adapters: Any = None
        self.folder = ""
        self.exits = False


_attached = _Attached()


def begin(folder: str, text: str) -> None:
    """Record as the settings say; `text` is their JSON."""
    try:
        _begin(folder, text)
    except Exception as error:  # noqa: BLE001 - never into the program
        _write_status(folder, error=str(error))


def end() -> None:
    """Stop, if it still records."""
    try:
        if _attached.recording is not None:
            _stop()
    except Exception as error:  # noqa: BLE001 - as above
        _write_status(_attached.folder, error=str(error))


def _begin(folder: str, text: str) -> None:
    from eventide import integrations, runtime  # noqa: F401 - runtime registers the draining of streams
    from eventide._util import process

    if _attached.recording is not None:
        raise UsageError("it is being recorded already, by another eventide run --pid")
    from eventide.run._child import RunRecording, is_recorded

    if is_recorded():
        raise UsageError("it was started by eventide run, which records it")
    from eventide.run._settings import Settings

    recording = RunRecording(Settings.from_json(text), stopped=_stopped)
    _attached.folder = folder
    recording.start()
    _attached.recording = recording
    _attached.adapters = integrations.install_when_imported()
    process.at_exit(_exit, last=True)
    _write_status(folder, state="recording")


def _stop() -> None:
    if _attached.recording is not None:
        _attached.recording.stop()


def _exit() -> None:
    _attached.exits = True
    _stop()


def _stopped() -> None:
    """The file is complete: by end(), by --seconds, or at exit."""
    from eventide._util import process

    _attached.recording = None
    process.cancel_at_exit(_exit)
    if _attached.adapters is not None:
        _attached.adapters.close()
        _attached.adapters = None
    _write_status(_attached.folder, state="exits" if _attached.exits else "complete")


def _write_status(folder: str, **what: str) -> None:
    try:
        whole, part = f"{folder}/{STATUS}", f"{folder}/{STATUS}.part"
        with open(part, "w", encoding="utf-8") as file:  # noqa: PTH123 - pathlib may not be imported there
            json.dump(what, file)
        os.replace(part, whole)  # noqa: PTH105 - as above
    except OSError:  # the other process has given up
        return
