"""``EVENTIDE_SANITIZE``: the sanitizer on any program, with a report on stderr when it ends.

1           report; the exit code stays the program's
predict     and ignore the order between host threads
raise       and raise at the call that shows the first finding
leaks       and report what was never freed
fail        and end with exit code 1 if there are findings other than redundant waits and synchronizations
Commas combine them: ``EVENTIDE_SANITIZE=fail,predict``. With ``EVENTIDE_SANITIZE_REPORT=FOLDER`` the report is the file
``<process>.json`` there, with nothing suppressed; ``eventide check`` uses that.
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


def sanitize_process(value: str) -> None:
    """Check the rest of the process; `value` is that of the variable."""
    words = parse(value)
    folder = os.environ.get("EVENTIDE_SANITIZE_REPORT", "")
    scope = sanitize(
        mode="raise" if "raise" in words else "collect",
        predict="predict" in words,
        suppress=() if folder else None,  # the reader of the reports applies them
        leaks="leaks" in words,
    )
    pid = os.getpid()

    def report() -> None:
        if os.getpid() != pid:  # the child of a fork: the parent reports
            return
        findings = scope.stop()
        if folder:
            text = json.dumps({**findings_to_json(findings), "stream_names": dict(findings.stream_names)})
            Path(folder, f"{pid}.json").write_text(text, "utf-8")
            return
        sys.stderr.write(f"eventide sanitizer:\n{plain_text(findings)}\n")
        sys.stderr.flush()
        if findings.faults and "fail" in words:
            _native.exit_with(1)

    scope.start()
    process.at_exit(report)
    from eventide.integrations import install_when_imported

    install_when_imported()  # work of other frameworks is checked, too
