"""Finds races and other errors of stream programs: vector clocks of streams and host threads, byte ranges, lifetimes.

Finding, Access, Piece, Fix               one finding                        _finding
Findings, Coverage, judge                 a result and its coverage          _findings
sanitize                                  on a running program               _live
sanitize_process                          all of it: EVENTIDE_SANITIZE       _at_exit
Suppression                               accepted findings                  _suppress
findings_to_json, findings_to_sarif       for other programs                 output/
lines, plain_text                         for people                         output/
check_program, check_program_findings     a program as data                  program/
check_trace                               on a stored trace                  _offline
"""

from eventide._util.public_names import publish
from eventide.sanitizer._at_exit import sanitize_process
from eventide.sanitizer._finding import KINDS, Access, Finding, Fix, Piece
from eventide.sanitizer._findings import Coverage, Findings, Suppressed, judge
from eventide.sanitizer._live import sanitize
from eventide.sanitizer._offline import check_trace
from eventide.sanitizer._suppress import Suppression
from eventide.sanitizer._suppress import load as load_suppressions
from eventide.sanitizer.output._json import finding_from_json, findings_to_json
from eventide.sanitizer.output._sarif import findings_to_sarif
from eventide.sanitizer.output._text import lines, plain_text, short_path
from eventide.sanitizer.output._words import fix_text, place
from eventide.sanitizer.program._check import check_program, check_program_findings, verdict

__all__ = [
    "KINDS",
    "Access",
    "Coverage",
    "Finding",
    "Findings",
    "Fix",
    "Piece",
    "Suppressed",
    "Suppression",
    "check_program",
    "check_program_findings",
    "check_trace",
    "finding_from_json",
    "findings_to_json",
    "findings_to_sarif",
    "fix_text",
    "judge",
    "lines",
    "load_suppressions",
    "place",
    "plain_text",
    "sanitize",
    "sanitize_process",
    "short_path",
    "verdict",
]

publish("eventide", globals(), ("sanitize",))
publish(__name__, globals(), __all__)
