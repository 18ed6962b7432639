"""What became of hearing torch, for the trace."""

from __future__ import annotations

from dataclasses import dataclass, field

from eventide.integrations.torch._kineto import Wanted
from eventide.recording import note


@dataclass
class Account:
    """What was heard, how, and what was not."""

    operators: int = 0
    on_devices: int = 0
    imported: int = 0  # sessions of the program
    harvest_ns: int = 0
    clock_error_ns: int = 0
    limit_s: float = 0.0  # that was reached; 0: none
    profiled: str = ""  # what Kineto was asked for
    held: bool = False  # Kineto has something that is not in the trace yet
    warnings: list[str] = field(default_factory=list)

    def keep(self) -> None:
        """It goes with the trace that is being recorded."""
        note({"torch": {**self.__dict__, "clock": "CLOCK_REALTIME"}})


def words(wanted: Wanted) -> str:
    """What Kineto is asked for."""
    said = [word for word in ("operators", "memory") if getattr(wanted, word)]
    return " and ".join(said) or "device activity"
