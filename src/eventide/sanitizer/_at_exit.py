"""``EVENTIDE_SANITIZE``: the sanitizer on any program, with a report on stderr when it ends.

1           report; the exit code stays the program's
predict     and ignore hand-over between host threads
raise       and raise at the call that shows the first finding
leaks       and tell what was never given back
fail        and end with exit code 1 if there are findings
Several go together with commas: ``EVENTIDE_SANITIZE=fail,predict``. With ``EVENTIDE_SANITIZE_REPORT=FOLDER`` the report
is a file there, ``<process>.json``, with nothing suppressed: that is how ``eventide check`` asks.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from eventide import _native
from eventide._util import process
from eventide.errors import UsageValueError
from eventide.sanitizer._live import sanitize
from eventide.sanitizer.output._json import findings_to_json
from eventide.sanitizer.output._text import plain_text

WORDS = ("1", "predict", "raise", "leaks", "fail")


def parse(value: str) -> set[str]:
    """The words of the variable."""
    words = {word.strip() for word in value.split(",") if word.strip()}
    unknown = sorted(words - set(WORDS))
    if unknown:
        raise UsageValueError(f"EVENTIDE_SANITIZE has no {unknown[0]!r}; it takes 0, {', '.join(WORDS)}, with commas")
    return words


def install(value: str) -> None:
    """Switch it on for the rest of the process."""
    words = parse(value)
    folder = os.environ.get("EVENTIDE_SANITIZE_REPORT", "")
    watched = sanitize(
        mode="raise" if "raise" in words else "collect",
        predict="predict" in words,
        suppress=() if folder else None,  # whoever gathers the reports decides
        leaks="leaks" in words,
    )
    pid = os.getpid()

    def report() -> None:
        if os.getpid() != pid:  # the child of a fork: the parent reports
            return
        findings = watched.stop()
        if folder:
            text = json.dumps({**findings_to_json(findings), "stream_names": dict(findings.stream_names)})
            Path(folder, f"{pid}.json").write_text(text, "utf-8")
            return
        sys.stderr.write(f"eventide sanitizer:\n{plain_text(findings)}\n")
        sys.stderr.flush()
        if findings and "fail" in words:
            _native.exit_with(1)

    watched.start()
    process.at_exit(report)
    from eventide.integrations import install_when_imported

    install_when_imported()  # what programs do with other people's frameworks is checked too
