"""eventide/profiler.h, from plug-ins that are compiled here and loaded with ctypes."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import eventide as et
from eventide.backends import include_path

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
SOURCES = Path(__file__).parent / "plugins"
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-O2", "-fPIC")


def compile_plugin(folder: Path, *flags: str) -> Path:
    """A new shared object of both sources; another name each time, so that it is loaded anew."""
    library = folder / f"libreports{len(list(folder.iterdir()))}.so"
    include = f"-I{include_path()}"
    c_object = folder / "reports_c.o"
    run = subprocess.run(
        ["gcc", "-std=c99", *STRICT, *flags, include, "-c", SOURCES / "reports_c.c", "-o", c_object],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    run = subprocess.run(
        ["g++", "-std=c++11", *STRICT, *flags, include, "-shared", "-pthread", SOURCES / "reports.cpp", c_object,
         "-Wl,-z,defs", "-o", library],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return library


def load(library: Path) -> ctypes.CDLL:
    loaded = ctypes.CDLL(str(library))
    loaded.report.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_char_p]
    loaded.report_from_c.argtypes = [ctypes.c_int64, ctypes.c_int64]
    loaded.now_us.restype = ctypes.c_int64
    loaded.clock_pair.argtypes = [ctypes.c_int64]
    return loaded


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    return compile_plugin(tmp_path_factory.mktemp("plugin"))


@pytest.fixture
def plugin(library, tmp_path) -> ctypes.CDLL:
    """Loaded anew for each test: Eventide is there already, so it finds the table by itself."""
    copy = tmp_path / "libreports.so"
    shutil.copy(library, copy)
    return load(copy)


def spans_of(prof) -> list[tuple[str, str]]:
    return [(row["name"], row["category"]) for row in prof.result.trace.spans.sort_by("start").to_pylist()]


def test_arguments_are_evaluated_only_while_a_profile_runs(plugin) -> None:
    assert plugin.report(1, 2, b"off") == 0
    assert plugin.evaluations() == 0
    with et.profile():
        assert plugin.report(plugin.now_us(), plugin.now_us(), b"events only") == 1
        assert plugin.evaluations() == 1  # memory was not asked for
    with et.profile(profile_memory=True):
        plugin.report(plugin.now_us(), plugin.now_us(), b"both")
        assert plugin.evaluations() == 3
    plugin.report(1, 2, b"off")
    assert plugin.evaluations() == 3
    assert plugin.now_us() == 0


def test_the_macros_are_statements_that_leave_the_else_alone(plugin) -> None:
    assert plugin.report(-1, 2, b"x") == -1
    assert plugin.report(1, -2, b"x") == -2


def test_events_and_memory_of_a_backend_are_in_the_trace(plugin) -> None:
    with et.profile(profile_memory=True) as prof:
        start = plugin.now_us()
        plugin.report(start, start + 3, 'quotes " and \\ and 🎉'.encode())
        plugin.report_from_c(start, start + 1)
    trace = prof.result.trace
    first, *_ = [row for row in trace.spans.to_pylist() if row["category"] == "backend" and row["name"]]
    assert (first["name"], first["start"], first["duration"]) == ('quotes " and \\ and 🎉', start * 1000, 3000)
    assert json.loads(first["args"])["debug_handle"] == 7
    assert {"c++ backend", "c backend", "memory mine:0"} <= set(trace.tracks["name"].to_pylist())
    assert sorted(row["value"] for row in trace.counters.to_pylist()) == [64, 128]
    trace.check()


def test_spans_end_with_their_block_and_threads_without_python_are_profiled(plugin) -> None:
    with et.profile() as prof:
        plugin.spans()
        plugin.report_from_c(plugin.now_us(), plugin.now_us())
    found = [name for name, category in spans_of(prof) if category == "span"]
    assert found == ['outer "of C++"', "inner", "in an if", "in a thread", "C block"]
    rows = {row["name"]: row for row in prof.result.trace.spans.to_pylist()}
    assert rows["in a thread"]["track"] != rows["inner"]["track"]
    assert rows["inner"]["start"] >= rows['outer "of C++"']["start"]


def test_invalid_times_are_counted_and_not_recorded(plugin) -> None:
    before = et._native.profiler_refused()
    with et.profile() as prof:
        plugin.report(20, 10, b"backwards")
    assert et._native.profiler_refused() == before + 1
    assert spans_of(prof) == []
    assert prof.dropped == {"invalid times": 1}


def test_the_clock_of_a_backend_is_mapped(plugin) -> None:
    ahead = 10**9
    with et.profile(adjust_timestamps=True) as prof:
        plugin.clock_pair(ahead)
        start = plugin.now_us()
        while plugin.now_us() < start + 3:
            pass  # a report comes after the event
        plugin.report(start + ahead, start + ahead + 1, b"elsewhere")
    (span,) = [row for row in prof.result.trace.spans.to_pylist() if row["category"] == "backend"]
    assert abs(span["start"] - start * 1000) <= prof.result.profiler["clocks"]["c++ backend"]["error_ns"]


def test_a_plugin_that_is_loaded_before_eventide_or_during_a_profile_is_profiled(library, tmp_path) -> None:
    copy = tmp_path / "second.so"
    shutil.copy(library, copy)
    code = f"""
import ctypes, sys
first = ctypes.CDLL({str(library)!r})
first.report.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_char_p]
assert first.report(1, 2, b"too early") == 0
import eventide as et
with et.profile() as prof:
    second = ctypes.CDLL({str(copy)!r})
    print(first.spans(), second.spans())
print(sorted(prof.result.trace.spans["name"].to_pylist()))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("in a thread") == 2


def test_a_disabled_header_leaves_no_symbols(tmp_path) -> None:
    library = compile_plugin(tmp_path, "-DEVENTIDE_DISABLE", "-Wno-unused-function")
    symbols = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
    assert "eventide_profiler" not in symbols
    plugin = load(library)
    with et.profile(profile_memory=True) as prof:
        assert plugin.report(1, 2, b"x") == 0
        plugin.spans()
    assert plugin.evaluations() == 0
    assert spans_of(prof) == []


@pytest.mark.skipif(shutil.which("objdump") is None, reason="no objdump")
def test_without_a_profile_a_report_costs_a_load_and_a_branch_and_no_call(tmp_path) -> None:
    source = tmp_path / "one.c"
    source.write_text(
        "#include <eventide/profiler.h>\n"
        'void one(int64_t a, int64_t b) { EVENTIDE_RECORD_BACKEND_EVENT(a, b, 1, "x", "y"); }\n',
        "utf-8",
    )
    binary = tmp_path / "one.so"
    command = ["gcc", "-std=c99", *STRICT, f"-I{include_path()}", "-shared", source, "-o", binary]
    subprocess.run(command, check=True)
    text = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", binary], capture_output=True, text=True, check=True
    ).stdout
    body = text[text.index("<one>:") :].split("\n\n")[0].splitlines()[1:]
    until_return = []
    for line in body:
        until_return.append(line)
        if re.search(r"\bret", line):
            break
    jumps = [line for line in until_return if re.search(r"\tj\w+ |\tcbz|\tb\.", line)]
    assert len(jumps) >= 1
    first_jump = until_return.index(jumps[0])
    assert first_jump <= 4, "\n".join(until_return)  # the slot's address, the load, the test, the branch
    assert not [line for line in until_return[: first_jump + 1] if "call" in line]


def test_a_recorder_takes_what_a_profile_takes(plugin, tmp_path) -> None:
    with et.Recorder(tmp_path / "t.eventide") as recorder:
        plugin.spans()
        start = plugin.now_us()
        assert plugin.report(start, start + 3, b"conv") == 1
    trace = recorder.trace
    rows = [(row["name"], row["category"]) for row in trace.spans.sort_by("start").to_pylist()]
    assert rows == [('outer "of C++"', "span"), ("inner", "span"), ("in an if", "span"), ("in a thread", "span"),
                    ("conv", "backend")]  # fmt: skip
    assert sorted(row["value"] for row in trace.counters.to_pylist()) == [64, 128]
    evaluated = plugin.evaluations()
    assert plugin.report(1, 2, b"off") == 0
    assert plugin.evaluations() == evaluated


def test_a_profile_inside_a_recording_ends_nothing_of_it(plugin) -> None:
    with et.Recorder() as recorder:
        with et.profile():
            pass
        plugin.spans()
    assert 'outer "of C++"' in recorder.trace.spans["name"].to_pylist()


PROGRAM = """
import ctypes, sys
plugin = ctypes.CDLL(sys.argv[1])
for _ in range(15):
    plugin.spans()
"""


def test_spans_of_an_unchanged_program_are_recorded_by_eventide_run(library, tmp_path) -> None:
    (tmp_path / "p.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "eventide", "run", "-q", "-o", "t.eventide", "p.py", library]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    assert et.open_trace(tmp_path / "t.eventide").spans.num_rows == 60


SOURCE = {
    "profiler": '#include <eventide/profiler.h>\nvoid f(void) { EVENTIDE_SPAN("f"); }\n',
    "device": '#include <eventide/device.h>\nextern "C" uint32_t version() { return EVENTIDE_DEVICE_VERSION; }\n',
}  # fmt: skip


@pytest.mark.parametrize("header", ["profiler", "device"])
def test_the_compile_line_printed_in_a_header_works_as_printed(header, tmp_path) -> None:
    text = (Path(include_path()) / "eventide" / f"{header}.h").read_text()
    (line,) = re.findall(r"^ \*   ((?:cc|c\+\+) .*include_path.*)$", text, re.MULTILINE)
    line = re.sub(r" \.\.\. +nothing to link", " -c mine.c", line)
    (tmp_path / f"mine.{'c' if header == 'profiler' else 'cpp'}").write_text(SOURCE[header])
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    run = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, env={"PATH": path}, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert [each for each in tmp_path.iterdir() if each.suffix in {".o", ".so"}]
