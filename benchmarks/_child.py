"""Runs one benchmark file here and writes its rows, one JSON line each, as they come: what a crash leaves is kept."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks._harness import Options, Row


def main(name: str, output: str, quick: str) -> None:
    options = Options(rounds=3, quick=True) if quick == "quick" else Options()
    with Path(output).open("w", encoding="utf-8") as file:
        try:
            for row in importlib.import_module(f"benchmarks.{name}").rows(options):
                file.write(json.dumps(asdict(row)) + "\n")
                file.flush()
        except Exception as error:  # noqa: BLE001  one broken file must not take the table away
            lines = str(error).splitlines() or [""]
            problem = f"could not run: {type(error).__name__}: {lines[0]}"
            file.write(json.dumps(asdict(Row(name, problem=problem))) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
