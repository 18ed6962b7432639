"""Is a hook in the core, without a listener, one load and one predicted branch, without a call?

Not a time: the sources of the core that call `hub::listening` are compiled as the package is, and objdump shows every
place where they do.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks._harness import Options, Row

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
FLAGS = "-std=c++20 -O3 -DNDEBUG -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -Inative/core -Inative/include"
WHAT, BAR = "hook in the core, no listener", "one load, one branch, no call"
RECORD = "Event::record"  # the function whose code is shown
LOAD = re.compile(r"(mov|test[bl]?|movzbl|movzwl|bt[l]?)\s.*\(%rip\)")
JUMP = re.compile(r"j(e|ne|s|ns|b|ae|c|nc)\s")


@dataclass(frozen=True)
class Site:
    """One place that reads the mask: from the load to the first branch behind it."""

    function: str
    code: tuple[str, ...]
    direct: bool  # through the instruction pointer, not through a table of addresses (which is a second load)

    @property
    def good(self) -> bool:
        """Whether this is a load, at most a test and a move between, and a branch."""
        loads = sum("(%" in line and not line.startswith("lea") for line in self.code)
        called = any(line.startswith("call") for line in self.code)
        short = len(self.code) <= 4 and bool(LOAD.match(self.code[0])) and bool(JUMP.match(self.code[-1]))
        return self.direct and short and loads == 1 and not called


def disassemble(source: Path, folder: str, compiler: str) -> str:
    output = str(Path(folder, source.stem + ".o"))
    subprocess.run([compiler, *FLAGS.split(), "-c", str(source), "-o", output], cwd=ROOT, check=True)
    command = ["objdump", "-drwC", "--no-show-raw-insn", output]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def sites(text: str) -> Iterator[Site]:
    """Every instruction whose relocation names the mask, with what follows it up to a branch."""
    function = ""
    lines = text.splitlines()
    for index, line in enumerate(lines):
        if line.endswith(">:"):
            function = re.sub(r"\(.*", "", line.split("<", 1)[1])
        if "listening_mask" not in line or "\t" not in line:
            continue
        code: list[str] = []
        for following in lines[index : index + 6]:
            if not following.strip():
                break
            code.append(clean(following))
            if JUMP.match(code[-1]):
                break
        yield Site(function, tuple(code), "GOT" not in line)


def clean(line: str) -> str:
    """One line of objdump in a readable form: no address, no relocation, the mask by its name."""
    text = line.split("\t", 1)[1]
    mask = "listening_mask" in text
    text = re.split(r"\s+#|\t\w+: R_|<", text)[0].replace("0x0(%rip)", "listening_mask(%rip)" if mask else "0x0(%rip)")
    return " ".join(text.split())


def rows(_: Options) -> Iterator[Row]:
    compiler = os.environ.get("CXX") or shutil.which("c++")
    if platform.machine() != "x86_64":
        yield Row(WHAT, bar=BAR, problem=f"reads x86-64 only, this is {platform.machine()}")
        return
    if compiler is None or shutil.which("objdump") is None:
        yield Row(WHAT, bar=BAR, problem="needs a C++ compiler and objdump")
        return
    sources = [path for path in sorted(ROOT.glob("native/core/**/*.cpp")) if "listening(" in path.read_text("utf-8")]
    with tempfile.TemporaryDirectory() as folder:
        found = [site for source in sources for site in sites(disassemble(source, folder, compiler))]
    queries = [site for site in found if site.code[0].split()[0] not in {"lock", "lea"}]  # add, remove: not reads
    bad = [site for site in queries if not site.good]
    record = [site for site in queries if site.function.endswith(RECORD)][:1]  # the first is what is passed when off
    evidence = [f"{len(queries)} places in {len(sources)} files of the core, {len(bad)} of them with more than that"]
    for site in bad or record:
        evidence += [f"{site.function}:", *(f"    {line}" for line in site.code)]
    yield Row(WHAT, bar=BAR, verdict=bool(record) and not bad, evidence=tuple(evidence))
