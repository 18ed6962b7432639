"""Runs fuzz targets and prints a line for each: runs, coverage, seconds, findings.

`python -m tests.fuzz.run SECONDS TARGET...`, after `make fuzz-build`. A target starts from its seeds, from what earlier
runs found worth keeping (build/fuzz/corpus) and from inputs that once made it fail (native/fuzz/regressions).
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "fuzz"
REGRESSIONS = ROOT / "native" / "fuzz" / "regressions"
# The longest input in bytes, where it is not 4096.
LONGEST = {"buffer": 8192, "kineto": 2048}


def command(target: str, seconds: float) -> list[str]:
    """How a target is run."""
    if target == "damage":
        return [sys.executable, "-m", "tests.fuzz.damage", str(seconds)]
    program = [str(BUILD / f"fuzz_{target}")]
    if (ROOT / "tests" / "fuzz" / f"fuzz_{target}.py").exists():
        program = [sys.executable, str(ROOT / "tests" / "fuzz" / f"fuzz_{target}.py")]
    folders = [BUILD / "corpus" / target, BUILD / "seeds" / target, REGRESSIONS / target]
    folders[0].mkdir(parents=True, exist_ok=True)
    found = BUILD / "found" / target
    found.mkdir(parents=True, exist_ok=True)
    return [
        *program,
        *(str(folder) for folder in folders if folder.is_dir()),
        f"-max_total_time={seconds:g}",
        f"-max_len={LONGEST.get(target, 4096)}",
        f"-artifact_prefix={found}/",
        "-timeout=20",
        "-print_final_stats=1",
    ]


def run(target: str, seconds: float) -> bool:
    """Whether nothing was found; what a target says is in build/fuzz/<target>.log."""
    began = time.monotonic()
    log = BUILD / f"{target}.log"
    with log.open("w") as file:
        code = subprocess.run(command(target, seconds), stdout=file, stderr=file, check=False, cwd=ROOT).returncode
    text = log.read_text("utf-8", "replace")
    runs = re.findall(r"stat::number_of_executed_units: (\d+)|^#(\d+)\s+DONE|^(\d+) files, ", text, re.MULTILINE)
    edges = re.findall(r" cov: (\d+) ", text)
    failures = re.findall(r"files, (\d+) failures", text)
    findings = int(failures[-1]) if failures else int(code != 0)
    count = next((number for number in runs[-1] if number), "?") if runs else "?"
    sys.stdout.write(
        f"{target:9} {count:>10} runs {edges[-1] if edges else '-':>6} edges {time.monotonic() - began:6.0f} s "
        f"{findings} findings\n"
    )
    if code:
        sys.stdout.write(f"{text[-3000:]}\n")
    sys.stdout.flush()
    return code == 0


def main() -> int:
    """All targets, also after one that found something."""
    seconds, targets = float(sys.argv[1]), sys.argv[2:]
    failed = [target for target in targets if not run(target, seconds)]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
