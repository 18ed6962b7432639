"""Is this stream program right? Vector clocks over streams and host threads, byte ranges, lifetimes.

Finding, Access, Fix                      what it says                       _finding
check_program, check_program_findings     the verdict of a program as data   _check, _program, _queues
"""

from eventide.sanitizer._check import check_program, check_program_findings, verdict
from eventide.sanitizer._finding import KINDS, Access, Finding, Fix

__all__ = ["KINDS", "Access", "Finding", "Fix", "check_program", "check_program_findings", "verdict"]
