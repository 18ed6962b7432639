"""Runs the README's two commands on clean machines, and prints a Markdown table of the results.

    make machines                          # Debian's bookworm, trixie and sid; needs root and debootstrap
    make machines SUITES="trixie sid"

A machine is a folder under build/machines (or $MACHINES) that debootstrap makes once, with the PACKAGES and no others.
Each run clones the last commit into it and starts `make demo` and `make test` there, with a new home, no environment
and no network settings except those of the host's pip. Their output is in <suite>.log beside the machine.

The mirror is the host's, or $MIRROR. noble, for Python 3.12, needs $UBUNTU_MIRROR, and $UBUNTU_KEYRING where the
host's debootstrap has no key for it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = "python3,python3-venv,python3-dev,g++,make,git,ca-certificates"
DEBIAN = ("bookworm", "trixie", "sid")
UBUNTU = ("noble",)
# What the host's pip needs to reach its index; the files may be missing.
PIP_SETTINGS = ("PIP_INDEX_URL", "PIP_TRUSTED_HOST", "PIP_PROXY", "PIP_CERT", "PIP_DEFAULT_TIMEOUT", "HTTPS_PROXY")
PIP_FILES = ("etc/pip.conf", "etc/ssl/certs/ca-certificates.crt", "etc/resolv.conf", "etc/hosts")
# The mounts belong to a namespace of their own: they are gone when the command has ended, however it ends.
ENTER = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'


@dataclass(frozen=True)
class Result:
    """How one command ended."""

    passed: bool
    seconds: float
    tests: str  # pytest's own count; empty: it did not run

    def __str__(self) -> str:
        verdict = self.tests or ("passed" if self.passed else "")
        return f"{verdict if self.passed else f'FAILED {verdict}'.strip()}; {self.seconds:.0f} s"


class Machine:
    """One installed suite."""

    def __init__(self, suite: str, folder: Path) -> None:
        self.suite = suite
        self.root = folder / suite
        self.log = folder / f"{suite}.log"

    def install(self) -> None:
        """Make it with debootstrap, unless an earlier run has; a half-made one is made anew."""
        done = self.root / "etc" / "installed-by-eventide"
        if done.exists():
            return
        shutil.rmtree(self.root, ignore_errors=True)
        options = ["--variant=minbase", f"--include={PACKAGES}"]
        source = [mirror(self.suite)]
        if self.suite in UBUNTU:
            options.append("--components=main,universe")  # python3-venv is in universe
            source.append("/usr/share/debootstrap/scripts/gutsy")  # what its releases since then share
            if keyring := os.environ.get("UBUNTU_KEYRING"):
                options.append(f"--keyring={keyring}")
        with self.log.open("w") as log:
            subprocess.run(
                ["debootstrap", *options, self.suite, self.root, *source], stdout=log, stderr=log, check=True
            )
        done.touch()

    def clone(self) -> None:
        """Put the last commit there, and make the home empty."""
        for folder in ("root", "eventide"):
            shutil.rmtree(self.root / folder, ignore_errors=True)
        (self.root / "root").mkdir()
        subprocess.run(["git", "clone", "-q", ROOT, self.root / "eventide"], check=True)
        for name in PIP_FILES:
            if Path("/", name).exists():
                shutil.copyfile(Path("/", name), self.root / name)

    def run(self, command: str, log: Path | None = None) -> tuple[int, str]:
        """Exit code and output of a command in the clone."""
        settings = [f"{name}={value}" for name, value in pip_settings(os.environ).items()]
        inside = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *settings]
        line = [
            "unshare",
            "--mount",
            "sh",
            "-c",
            ENTER,
            self.root,
            *inside,
            "sh",
            "-c",
            f"cd /eventide && {command}",
        ]
        done = subprocess.run(line, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if log is not None:
            with log.open("a") as out:
                out.write(f"$ {command}\n{done.stdout}")
        return done.returncode, done.stdout

    def timed(self, command: str) -> Result:
        """Run one of the two commands."""
        began = time.monotonic()
        code, output = self.run(command, self.log)
        counts = re.findall(r"^=+ (.*) in [\d.]+s.*=+$", output, re.MULTILINE)
        return Result(code == 0, time.monotonic() - began, counts[-1] if counts else "")

    def row(self) -> tuple[str, bool]:
        """This machine's row of the table, and whether both commands passed."""
        self.install()
        self.clone()
        python = self.run("python3 -c 'import platform; print(platform.python_version())'")[1].strip()
        compiler = self.run("g++ -dumpfullversion")[1].strip()
        demo, test = self.timed("make demo"), self.timed("make test")
        return f"| {self.suite} | {python} | {compiler} | {demo} | {test} |", demo.passed and test.passed


def pip_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Those of pip's settings that a machine needs as well."""
    return {name: environment[name] for name in PIP_SETTINGS if name in environment}


def mirror(suite: str) -> str:
    """Where debootstrap finds a suite."""
    if suite in UBUNTU:
        if "UBUNTU_MIRROR" not in os.environ:
            raise SystemExit(f"{suite} is a suite of Ubuntu; set UBUNTU_MIRROR to a mirror of it")
        return os.environ["UBUNTU_MIRROR"]
    if "MIRROR" in os.environ:
        return os.environ["MIRROR"]
    listed = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"]
    found = subprocess.run(listed, capture_output=True, text=True, check=False).stdout.split()
    if not found:
        raise SystemExit("apt has no mirror of Debian here; set MIRROR to one")
    return found[0]


def main(suites: list[str]) -> int:
    """Print the table; 0 if everything passed."""
    unknown = [suite for suite in suites if suite not in DEBIAN + UBUNTU]
    if unknown:
        raise SystemExit(f"unknown suites: {', '.join(unknown)}; known are {', '.join(DEBIAN + UBUNTU)}")
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        raise SystemExit("needs root and debootstrap (Debian: apt-get install debootstrap)")
    folder = Path(os.environ.get("MACHINES", ROOT / "build" / "machines")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    print("| suite | Python | g++ | `make demo` | `make test` |\n| --- | --- | --- | --- | --- |", flush=True)
    everything = True
    for suite in suites:
        row, passed = Machine(suite, folder).row()
        everything &= passed
        print(row, flush=True)
    return 0 if everything else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(DEBIAN)))
