"""Writes .speedscope files; see sampled.py."""

from eventide.trace.formats.sampled import write_speedscope as write

__all__ = ["write"]
