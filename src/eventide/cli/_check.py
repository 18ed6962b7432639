"""`eventide check`: a program under the sanitizer, a stored trace, or a program as data."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eventide.cli import _output
from eventide.errors import UsageValueError
from eventide.run import watched_environment
from eventide.sanitizer import Coverage, Finding, Findings, Suppression, finding_from_json, judge


@dataclass(frozen=True)
class Checked:
    """What there is to report, and how the program ended."""

    findings: Findings
    code: int = 0  # the program's own exit code
    note: str = ""  # what keeps the verdict from saying more
    verdict: str = ""  # of a program as data: the one word that check_program gives

    @property
    def exit_code(self) -> int:
        """1 if there are findings, else the program's own."""
        return 1 if self.findings else self.code


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    predict: bool = False
    leaks: bool = False
    quiet_stdout: bool = False  # what the program prints goes to stderr
    rules: tuple[Suppression, ...] = ()


def check_script(command: Sequence[str], options: Options) -> Checked:
    """Run ``python COMMAND...`` in an interpreter of its own, as it would run without us, and gather its reports."""
    words = [word for word in ("predict", "leaks") if getattr(options, word)]
    with tempfile.TemporaryDirectory(prefix="eventide-check-") as folder:
        environment = {
            **watched_environment(),  # programs that know nothing of us are heard through our adapters
            "EVENTIDE_SANITIZE": ",".join(["1", *words]),
            "EVENTIDE_SANITIZE_REPORT": folder,
        }
        code, process = _run([sys.executable, *command], environment, options.quiet_stdout)
        reports = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(Path(folder).glob("*.json"))}
    if str(process) not in reports:
        how = "left no report: it ended at once, or runs Python with -I, -E or -S"
        if code:
            how = f"ended with {_ending(code)} before it could report"
        return Checked(_gather(list(reports.values()), options), _plain(code), f"the program {how}")
    return Checked(_gather(list(reports.values()), options), _plain(code))


def check_file(path: Path, options: Options) -> Checked:
    """A trace, or a program as data."""
    from eventide.sanitizer import check_program_findings, check_trace, verdict
    from eventide.trace import open_trace

    program = _program_in(path)
    if program is not None:
        found = check_program_findings(program, predict=options.predict)
        works = sum(step.get("op") == "work" for step in program.get("ops", program.get("steps", ())))
        judged = judge(found, Coverage(works, works), options.rules)
        return Checked(judged, verdict=verdict(judged.found))
    findings = check_trace(open_trace(path), predict=options.predict, leaks=options.leaks, rules=options.rules)
    return Checked(findings)


def _program_in(path: Path) -> dict[str, Any] | None:
    """The program, if the file holds one: JSON with "ops"."""
    if path.suffix != ".json" or path.stat().st_size > 1 << 24:
        return None
    text = path.read_text("utf-8", "replace")
    try:
        document = json.loads(text)
    except ValueError as error:
        if '"ops"' in text and '"traceEvents"' not in text:
            raise UsageValueError(f"{path} is a program that is not JSON: {error}") from error
        return None  # a trace whose end is missing, perhaps
    members = [one for one in document if isinstance(one, dict)] if isinstance(document, list) else []
    if any("ops" in one for one in members):
        raise UsageValueError(
            f"{path} is a list of {len(members)} programs; give eventide check a file with one of them, "
            "or each to eventide.sanitizer.check_program"
        )
    if any("op" in one for one in members):
        raise UsageValueError(f'{path} is a list of steps; a program has them under "ops": {{"ops": [...]}}')
    if isinstance(document, dict) and not document.keys() & {"ops", "steps", "traceEvents"}:
        raise UsageValueError(f'{path} is neither a program (it has no "ops") nor a trace (it has no "traceEvents")')
    return document if isinstance(document, dict) and ("ops" in document or "steps" in document) else None


def _run(command: list[str], environment: dict[str, str], quiet_stdout: bool) -> tuple[int, int]:
    """The exit code and the process id. Ctrl-C goes to the program, which is in our process group."""
    _output.flush()
    with subprocess.Popen(command, env=environment, stdout=2 if quiet_stdout else None) as process:  # noqa: S603 - what the user named
        while True:
            try:
                return process.wait(), process.pid
            except KeyboardInterrupt:
                continue


def _plain(code: int) -> int:
    return code if code >= 0 else 128 - code


def _ending(code: int) -> str:
    import signal

    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


def _gather(reports: Sequence[dict[str, Any]], options: Options) -> Findings:
    """One list of the reports of the program and of the programs that it started."""
    found: list[Finding] = []
    names: dict[int, str] = {}
    totals = [0, 0, 0]
    for report in reports:
        found += [finding_from_json(item) for item in report["findings"]]
        names |= {int(stream): name for stream, name in report["stream_names"].items()}
        totals = [a + report["coverage"][key] for a, key in zip(totals, ("works", "known", "forgotten"), strict=True)]
    return judge(found, Coverage(*totals), options.rules, names)


def script_command(target: Sequence[str], module: str) -> list[str]:
    """The arguments of the interpreter."""
    if module:
        return ["-m", module, *target]
    if not any(target[:1]):
        raise UsageValueError("name what to check: eventide check script.py, eventide check -m module, or a trace")
    return list(target)
