"""A logger that imports logging with its first message: most runs have none, and the import slows down each start."""

from __future__ import annotations

from typing import Any


class Log:
    """As logging.getLogger(name)."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, method: str) -> Any:
        import logging

        return getattr(logging.getLogger(self._name), method)
