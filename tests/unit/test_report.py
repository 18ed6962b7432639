"""The report as text and as JSON: `eventide report` and `eventide trace <answer>` on files made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eventide import open_trace
from eventide._util import format as f
from eventide.analysis import best_edits
from eventide.cli import main
from tests.trace_builder import Builder

# Of late_host(), with single spaces.
FIRST_LINES = {
    "summary": "gemm kernel 290 ns 76 % 1 290 ns 290 ns 290 ns",
    "breakdown": "cuda:0 1.00 us 38 % 0 % 0 % 0 % 62 %",
    "idle": "host late nothing was queued: the host had not launched the next work yet 500 ns 81 %",
    "syncs": "The host blocked 1 time for 300 ns.",
    "memory": "The trace holds no allocations and no memory counters; record with profile_memory=True",
    "compile": "The trace holds no compiles.",
    "critical-path": "1.00 us: 49 % host, 29 % compute, 11 % unrecorded host, 10 % sync return, 1.0 % launch",
}
ANSWERS = tuple(FIRST_LINES)


def late_host() -> Builder:
    b = Builder()
    b.span(b.thread(), "ProfilerStep#1", 0, 1000, "step")
    b.span(b.thread(), "DataLoader", 110, 590, "annotation")
    b.launch((0, 10), "void gemm<float>(float*)", 10, 100)
    b.launch((600, 610), "gemm", 610, 900)
    b.call("cudaDeviceSynchronize", 700, 1000, category="sync")
    return b


@pytest.fixture
def saved(tmp_path: Path) -> Any:
    def save(builder: Builder, name: str = "t.parquet") -> str:
        path = tmp_path / name
        builder.trace(source="test").save(path)
        return str(path)

    return save


def test_the_report_starts_with_the_cause_of_idle_time(saved, capsys):
    assert main(["report", saved(late_host())]) == 0
    out = capsys.readouterr().out
    first = " ".join(out.split("1. ")[1].split("2. ")[0].split())
    assert first == (
        "cuda:0 was idle 62 % of 1.00 us (620 ns); 81 % of that because the host was late: 1 gap, worst 500 ns before "
        "gemm, host in DataLoader."
    )
    assert out.index("Where the time went") < out.index("Critical path") < out.index("Next")
    assert max(len(line) for line in out.splitlines()) <= 100
    assert len(out.splitlines()) <= 45


def test_the_report_as_json_holds_the_same(saved, capsys):
    assert main(["report", saved(late_host()), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["findings"][0]["text"].startswith("cuda:0 was idle 62 %")
    assert found["idle"]["lanes"][0]["causes"] == {"host late": 500, "launch": 20, "queue empty": 100}
    assert found["breakdown"]["devices"][0]["whole"]["idle"] == 620


@pytest.mark.parametrize(("answer", "line"), FIRST_LINES.items())
def test_every_answer_prints_text_and_json(answer, line, saved, capsys):
    path = saved(late_host())
    assert main(["trace", answer, path]) == 0
    assert line in [" ".join(each.split()) for each in capsys.readouterr().out.splitlines()]
    assert main(["trace", answer, path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["wall"] == 1000


@pytest.mark.parametrize("answer", ["report", *ANSWERS])
def test_every_answer_works_on_a_trace_without_devices_and_on_an_empty_one(answer, saved, capsys):
    host = Builder()
    host.span(host.thread(), "aten::add [bold]x[/bold]", 0, 10)
    for number, builder in enumerate((host, Builder())):
        path = saved(builder, f"{number}.parquet")
        assert main([*(["report"] if answer == "report" else ["trace", answer]), path]) == 0
        out = capsys.readouterr().out
        assert "0 % idle" not in out
        if answer == "report":
            assert "evice" not in out
        if answer in {"breakdown", "idle"}:
            assert "nothing is known about a device being" in " ".join(out.split())


def test_a_comparison_sums_to_the_difference_and_names_what_differs(saved, capsys):
    other = late_host()
    other.work("gemm", 1000, 1300)
    other.span(other.stream(7, "hip:0"), "gemm", 0, 10, "kernel")
    paths = saved(late_host()), saved(other, "other.parquet")
    assert main(["trace", "compare", *paths, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["difference"] == 300 == sum(part["difference"] for part in found["parts"])
    assert found["warnings"] == ["other devices: 1 of cuda against 2 of cuda, hip"]
    assert main(["trace", "compare", *paths]) == 0
    assert "Not alike: other devices" in capsys.readouterr().out


def test_the_report_has_the_three_best_edits_and_its_json_has_all(saved, capsys):
    path = saved(late_host())
    found = best_edits(open_trace(path))
    assert len(found.rows) > 3
    assert main(["report", path]) == 0
    table = capsys.readouterr().out.partition("Best edits, by replay")[2].partition("\n\n")[0].splitlines()[1:]
    assert len(table) == 3
    for line, row in zip(table, found.rows, strict=False):
        assert line.startswith(row.name[:12])
        assert f"  {f.time(row.saved)}" in line or f"at best {f.time(row.saved)}" in line
        assert line.endswith(f"{f.time(row.low)} to {f.time(row.high)}")
        assert ("at best" in line) == row.at_best
    assert main(["report", path, "--json"]) == 0
    written = json.loads(capsys.readouterr().out)["best_edits"]
    assert [(row["call"], row["saved"]) for row in written["rows"]] == [(row.call, row.saved) for row in found.rows]


def test_a_report_without_a_ranking_of_edits_says_why(saved, capsys):
    builder = Builder()
    builder.launch((0, 10), "a", 10, 12)
    builder.work("b", 1_000_000, 1_000_002, stream=9)  # nothing that can be edited explains the time before it
    path = saved(builder)
    found = best_edits(open_trace(path))
    assert found.rows == ()
    assert main(["report", path]) == 0
    assert f"Best edits: {found.heading}" in " ".join(capsys.readouterr().out.split())
    host = Builder()
    host.span(host.thread(), "f", 0, 100)
    assert main(["report", saved(host, "host.parquet")]) == 0
    assert "Best edits" not in capsys.readouterr().out


def odd_traces() -> dict[str, Builder]:
    """What recordings in the field look like when something is missing or wrong."""
    found = {name: Builder() for name in ("no time", "no launches", "calls alone", "skewed", "overlapping", "many")}
    found["no time"].work("k", 5, 5)
    for at in range(0, 100, 10):
        found["no launches"].work("k", at, at + 5)
        found["calls alone"].call("cudaLaunchKernel", at, at + 5)
    found["skewed"].launch((100, 105), "begins before its launch", 50, 150)
    found["skewed"].call("cudaDeviceSynchronize", 110, 120, category="sync")
    found["overlapping"].launch((0, 5), "a", 0, 100)
    found["overlapping"].launch((6, 9), "b", 50, 150)
    for device in range(8):
        found["many"].span(found["many"].stream(7, f"cuda:{device}"), "k", device, 50, "kernel")
    return found


@pytest.mark.parametrize("name", odd_traces())
def test_odd_traces_are_answered_in_one_screen(name, saved, capsys):
    path = saved(odd_traces()[name])
    assert main(["report", path]) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) <= 45
    assert "0 % of 0" not in out
    for answer in ANSWERS:
        assert main(["trace", answer, path]) == 0
    capsys.readouterr()


def test_an_unknown_result_names_what_to_record(saved, capsys):
    builder = Builder()
    builder.work("a", 0, 10)
    builder.work("b", 50, 60)
    assert main(["report", saved(builder)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "for a reason that this trace does not hold" in out
    assert "no launch is tied to the device's work; record CPU activities together with the device's" in out


def test_another_suffix_is_refused_with_a_remedy_and_text_and_json_are_written(saved, tmp_path, capsys):
    assert main(["report", saved(late_host()), "-o", str(tmp_path / "r.docx")]) == 2
    assert "r.docx'; use a .html, a .txt or a .json file" in capsys.readouterr().err
    assert main(["report", saved(late_host()), "-o", str(tmp_path / "r.txt")]) == 0
    assert "because the host was late" in (tmp_path / "r.txt").read_text("utf-8")
    assert main(["report", saved(late_host()), "-o", str(tmp_path / "r.json")]) == 0
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["spans"] == 7


def test_a_missing_file_is_one_line_without_a_traceback(capsys):
    assert main(["report", "nowhere.json"]) == 2
    error = capsys.readouterr().err
    assert "there is no file 'nowhere.json'" in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [(0, "0 ns"), (999, "999 ns"), (1500, "1.50 us"), (999_999, "1.00 ms"), (12_345_678, "12.3 ms"), (-2e9, "-2.00 s")],
)
def test_times_have_three_figures(given, said):
    assert f.time(given) == said


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [
        (0, 10, "0 %"),
        (10, 10, "100 %"),
        (1, 10**6, "< 0.1 %"),
        (999_999, 10**6, "> 99.9 %"),
        (163, 1000, "16 %"),
        (1, 0, "-"),
    ],
)
def test_percentages_are_never_rounded_to_zero_or_to_all(part, whole, said):
    assert f.percent(part, whole) == said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("void at::native::(anonymous namespace)::fill<4>(int, float*)", "at::native::fill<4>"),
        ("Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pinned -> Device)"),
        ("aten::add", "aten::add"),
        ("x" * 70, "x" * 59 + "…"),
        ("f()", "f"),
        ("(odd)", "(odd)"),
    ],
)
def test_names_of_kernels_are_shortened(given, said):
    assert f.name(given) == said
