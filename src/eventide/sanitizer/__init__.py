"""Is this stream program right? Vector clocks over streams and host threads, byte ranges, lifetimes.

Finding, Access, Fix                      what it says                       _finding
"""

from eventide.sanitizer._finding import KINDS, Access, Finding, Fix

__all__ = ["KINDS", "Access", "Finding", "Fix"]
