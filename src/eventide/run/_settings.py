"""What `eventide run` records: written by the launcher into the environment, read by the recording in the program."""

from __future__ import annotations

import json
from types import NoneType, UnionType
from typing import Any, NamedTuple, Self, get_args, get_origin, get_type_hints

from eventide.errors import UsageTypeError, UsageValueError

VARIABLE = "EVENTIDE_RUN"  # of the environment


class Settings(NamedTuple):
    """The options of one recording. No dataclass, whose import would slow down each start."""

    path: str
    ring: bool = False
    sample_ms: float = 10.0  # between sampled stacks; 0: no samples
    start_on: str = ""  # the name of a signal; empty: record from the start
    seconds: float = 0.0  # 0: record to the end
    dump_on: str = ""  # the name of a signal that copies what is recorded so far
    hang_seconds: float | None = None  # copy it, too, after so many seconds without a record
    schedule: tuple[int, int, int, int] | None = None  # wait, warmup, active, repeat, in steps
    torch: tuple[str, ...] = ("ops", "modules")  # some of integrations.torch.CHOICES; empty: do not trace torch
    torch_seconds: float = 20.0  # of torch's own profiler; 0: no limit
    buffer_mib: int = 32  # of the recorder
    children: str = ""  # the folder for the recordings of child processes; empty: they are not recorded
    parent: int = 0  # of a child: the process that started it, which is recorded too
    of_rank: int | None = None  # of a child: the rank of that process

    def to_environment(self) -> dict[str, str]:
        """The variable that passes them to the program; from_json reads its value."""
        return {VARIABLE: self.to_json()}

    def to_json(self) -> str:
        """What from_json reads."""
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The settings; an unknown, missing or mistyped one is an error."""
        try:
            values = json.loads(text)
        except ValueError as error:
            raise UsageValueError(f"{VARIABLE} is not JSON: {error}; start the program with eventide run") from error
        if not isinstance(values, dict):
            raise UsageTypeError(f"{VARIABLE} is a JSON object, not {type(values).__name__}")
        names = cls._fields
        if wrong := sorted(set(values).symmetric_difference(names)):
            problem = "has no setting" if wrong[0] in values else "lacks the setting"
            raise UsageValueError(f"{VARIABLE} {problem} {wrong[0]!r}; the settings are {', '.join(names)}")
        hints = get_type_hints(cls)
        return cls(**{name: _checked(name, values[name], hints[name]) for name in names})


def _checked(name: str, value: Any, wanted: Any) -> Any:
    """`value` as the type `wanted`; JSON has lists for tuples, and may write 20.0 as 20."""
    for one in get_args(wanted) if isinstance(wanted, UnionType) else (wanted,):
        if get_origin(one) is tuple and isinstance(value, list):
            parts = get_args(one)
            kinds = parts[:1] * len(value) if parts[-1] is Ellipsis else parts
            if len(kinds) == len(value):
                return tuple(_checked(name, each, kind) for each, kind in zip(value, kinds, strict=True))
        elif one is float and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        elif one in (str, bool, int, NoneType) and type(value) is one:
            return value
    text = getattr(wanted, "__name__", str(wanted)) if isinstance(wanted, type) else str(wanted)
    raise UsageTypeError(f"{VARIABLE}: {name} is {text}, not {value!r}")
