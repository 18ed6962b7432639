"""The pages beside that of a trace (findings, comparison, job, samples, empty) in a real browser, light and dark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import eventide as et
from eventide.cli import main
from eventide.report import make_findings, report
from eventide.sanitizer import check_trace
from tests.browser.conftest import until
from tests.browser.test_page_in_browser import AXE, busy_trace, nanoseconds, press
from tests.reference.jobs import Plan, write_job
from tests.unit.test_page import trace_of
from tests.unit.test_page_findings import race

pytestmark = pytest.mark.heavy


def findings_page(folder: Path) -> Path:
    trace = race(folder)
    file = folder / "findings.html"
    file.write_text(make_findings(check_trace(trace), "race", trace), "utf-8")
    return file


def comparison_page(folder: Path) -> Path:
    step = (0, "ProfilerStep#0", 0, 12_000)
    for name, length in (("a", 400), ("b", 300)):
        kernels = [(2, "gemm", 1000 * number, length) for number in range(10)]
        trace_of([step, *kernels]).save(folder / f"{name}.json.gz")
    traces = [str(folder / f"{name}.json.gz") for name in "ab"]
    assert main(["trace", "compare", *traces, "-o", str(folder / "diff.html")]) == 0
    return folder / "diff.html"


def job_page(folder: Path) -> Path:
    traces = [str(path) for path in write_job(folder, Plan(ranks=4, steps=3, slow=2), {})]
    assert main(["job", "import", *traces, "-o", str(folder / "job")]) == 0
    assert main(["job", "report", str(folder / "job"), "-o", str(folder / "job.html")]) == 0
    return folder / "job.html"


def samples_page(folder: Path) -> Path:
    sampled = {"track": [0] * 4, "name": ["x"] * 4, "category": ["sample"] * 4, "stack": [0, 0, 0, 1]}
    frames = [[{"function": name, "file": "a.py", "line": 1}] for name in ("busy", "rare")]
    times = {"time": [time * 1_000_000 for time in (10, 20, 30, 40)]}
    trace = et.Trace({"tracks": {"kind": ["other"]}, "instants": sampled | times, "stacks": {"frames": frames}})
    report(trace, folder / "samples.html")
    return folder / "samples.html"


def empty_page(folder: Path) -> Path:
    report(et.Trace({}), folder / "empty.html")
    return folder / "empty.html"


@pytest.fixture
def opened(browser: Any) -> Any:
    """opened(file, **options of the context): a page that requests nothing else and logs no error."""
    contexts, wrong = [], []

    def open_file(file: Path, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": 1200, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: None if asked.url.startswith(file.as_uri()) else wrong.append(asked.url))
        page.goto(file.as_uri())
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("make", [findings_page, comparison_page, job_page, samples_page, empty_page])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_screen(make, scheme, opened, tmp_path):
    page = opened(make(tmp_path), color_scheme=scheme)
    if page.locator("#lanes").count():
        until(page, "window.eventide && window.eventide.timeline.frames.length > 0")
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [(each["id"], [node["html"][:80] for node in each["nodes"]]) for each in found["violations"]] == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_no_paths_leaves_directories_out_of_the_file(opened, tmp_path):
    page, here = tmp_path / "r.html", str(Path(__file__).parents[1])
    race(tmp_path)
    assert main(["report", str(tmp_path / "race.eventide"), "--no-paths", "-o", str(page)]) == 0
    shown = opened(page)
    until(shown, "window.eventide && window.eventide.timeline.frames.length > 0")
    shown.locator("#lanes").focus()
    press(shown, ".")
    until(shown, "document.querySelector('#panel h3') !== null")
    stack = """(async () => { const text = document.getElementById(`b${window.eventide.index.stacks}`).textContent;
        const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
        const whole = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
        return new Response(whole).text(); })()"""
    assert "test_page_findings.py" in shown.evaluate(stack)
    assert here not in shown.evaluate(stack) + page.read_text("utf-8")


def test_with_exact_the_sums_of_everything_are_those_of_json(opened, tmp_path, capsys):
    file, page = tmp_path / "t.parquet", tmp_path / "r.html"
    busy_trace().save(file)
    assert main(["report", str(file), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert main(["report", str(file), "--exact", "-o", str(page)]) == 0
    shown = opened(page)
    until(shown, "window.eventide && window.eventide.timeline.shownAt > 0")
    shown.locator("#lanes").focus()
    press(shown, "F", "r")
    until(shown, "document.querySelectorAll('#panel table').length === 3")
    busy, idle, named = [
        {row.locator("td").first.inner_text(): nanoseconds(row.locator("td").nth(1).inner_text())
         for row in table.locator("tr").all()[1:]}
        for table in shown.locator("#panel table").all()
    ]  # fmt: skip
    lane = document["idle"]["lanes"][0]
    assert {cause.partition(": ")[2]: time for cause, time in idle.items()} == lane["causes"]
    assert busy["cuda:0 · stream 7"] == lane["busy"]
    work = {row["name"]: row["total"] for row in document["summary"]["device"]}
    assert {name: named[name] for name in work} == work


def test_annotations_on_a_stream_are_not_busy_in_a_selection_nor_in_the_overview(opened, tmp_path):
    """A device that never idles has its whole time, and one with several streams that of each and of all."""
    file, page = tmp_path / "t.parquet", tmp_path / "r.html"
    tracks = {
        "kind": ["stream"] * 4, "device": ["cuda:0", "cuda:1", "cuda:1", "cuda:2"], "stream": [7, 7, 8, 7],
    }  # fmt: skip
    rows = [(0, "step", "annotation", 0, 10_000), (0, "k", "kernel", 0, 2000), (0, "k", "kernel", 8000, 2000)]
    rows += [(1, "k", "kernel", 0, 3000), (2, "copy", "copy", 2000, 3000), (3, "k", "kernel", 0, 10_000)]
    columns = dict(zip(("track", "name", "category", "start", "duration"), zip(*rows, strict=True), strict=True))
    et.Trace({"tracks": tracks, "spans": {name: list(column) for name, column in columns.items()}}).save(file)
    assert main(["report", str(file), "-o", str(page)]) == 0
    shown = opened(page)
    until(shown, "window.eventide && window.eventide.timeline.shownAt > 0")
    shown.locator("#lanes").focus()
    press(shown, "F", "r")
    until(shown, "document.querySelectorAll('#panel table').length === 3")
    rows = shown.locator("#panel table").first.locator("tr").all()[1:]
    cells = [row.locator("td").all_inner_texts() for row in rows]
    assert {name: nanoseconds(time) for name, time, _ in cells} == {
        "cuda:0 · stream 7": 4000,
        "cuda:1, any stream": 5000,
        "cuda:1 · stream 7": 3000,
        "cuda:1 · stream 8": 3000,
        "cuda:2 · stream 7": 10_000,
    }
    high = """(() => { const c = document.getElementById('strip'), x = Math.round(c.width * %s);
        const d = c.getContext('2d').getImageData(x, 0, 1, c.height).data;
        return [...d].filter((_, i) => i %% 4 === 3 && d[i] > 200).length; })()"""  # opaque
    busy, idle = (shown.evaluate(high % share) for share in (0.1, 0.7))
    assert busy > 2 * idle > 0
