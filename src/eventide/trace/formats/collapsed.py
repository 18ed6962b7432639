"""Writes .collapsed files; see sampled.py."""

from eventide.trace.formats.sampled import write_collapsed as write

__all__ = ["write"]
