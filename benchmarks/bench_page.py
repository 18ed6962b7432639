"""What does the page of a trace of 10 million spans cost: to write, to open, to pan, and in memory of the browser?

The trace is drawn from five real ones (_page_trace). It is made and written in a process of its own. Chromium is driven
by Playwright; the time to open is that of a warm file. Beside it: the same trace for Perfetto (.pftrace), the file that
the Perfetto UI loads whole.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks._harness import Options, Row
from benchmarks._page_trace import sources

SPANS = 10_000_000
QUICK = 200_000
ZOOMS = 7
FRAMES = 60  # of panning, at each zoom
FLAGS = ["--no-sandbox", "--disable-gpu", "--enable-precise-memory-info"]
WRITE = """
import json, resource, sys, time
from pathlib import Path
from benchmarks._page_trace import make, sources
from eventide.report import gather, write_report
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20
trace = make(int(sys.argv[1]), sources())
Path("/proc/self/clear_refs").write_text("5")  # the peak so far is that of making it
before, began, cpu = resident(), time.perf_counter(), time.process_time()
write_report(trace, gather(trace, "large"), sys.argv[2], ".html")
wall, cpu = time.perf_counter() - began, time.process_time() - cpu
high = next(int(line.split()[1]) / 1024 for line in Path("/proc/self/status").open() if line.startswith("VmHWM"))
began = time.perf_counter()
trace.save(sys.argv[3])
print(json.dumps({"spans": trace.spans.num_rows, "wall": wall, "cpu": cpu, "memory": high - before,
                  "perfetto": time.perf_counter() - began}))
"""
OPEN = """() => {
  const paint = performance.getEntriesByType("paint").find((each) => each.name === "first-contentful-paint");
  return [paint.startTime, window.eventide.timeline.shownAt];
}"""
SHOWN = "window.eventide && window.eventide.timeline.shownAt > 0"
# Pans for some frames at one zoom, after what is in view has been read; gives script times and presented intervals.
PAN = """async ([power, frames]) => {
  const { timeline, index } = window.eventide;
  const half = index.wall / 10 ** power / 2;
  timeline.show(index.wall * 0.4 - half, index.wall * 0.4 + half);
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  for (let i = 0; i < 40; i++) await frame();
  timeline.frames.length = 0;
  const at = [];
  for (let i = 0; i < frames; i++) {
    timeline.pan(0.02);
    at.push(await frame());
  }
  await frame();
  const lanes = timeline.visibleRows().filter((row) => row.kind === "lane").length;
  return {
    script: timeline.frames.slice(), between: at.slice(1).map((time, i) => time - at[i]),
    visited: timeline.painter.visited / (timeline.canvas.width * Math.max(lanes, 1)),
  };
}"""


def rows(options: Options) -> Iterator[Row]:
    whole = len(sources()) == 5
    if not whole or shutil.which("chromium") is None:
        missing = "the traces of ../shared" if not whole else "chromium"
        yield Row("the page of 10 million spans", problem=f"not run: {missing} is absent")
        return
    with tempfile.TemporaryDirectory() as folder:
        page, perfetto = Path(folder, "large.html"), Path(folder, "large.pftrace")
        count = str(QUICK if options.quick else SPANS)
        command = [sys.executable, "-c", WRITE, count, str(page), str(perfetto)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        yield from written(json.loads(done.stdout), page, perfetto)
        yield from browsed(page)


def written(made: dict[str, Any], page: Path, perfetto: Path) -> Iterator[Row]:
    what = f"page of {made['spans'] / 1e6:.1f} M spans"
    size, other = page.stat().st_size / 1e6, perfetto.stat().st_size / 1e6
    yield Row(f"{what}: file", "the .pftrace of it", (size,), (other,), "MB", "<= 40 MB", size <= 40)
    wall, peer = made["wall"], made["perfetto"]
    cpu = f"CPU time {made['cpu']:.1f} s; what is written includes every analysis of the report"
    bar = "<= 30 s"
    yield Row(f"{what}: analyze and write", "writing it", (wall,), (peer,), "s", bar, wall <= 30, evidence=(cpu,))
    memory = made["memory"]
    yield Row(f"{what}: memory beyond the trace", "-", (memory,), (), "MB", "<= 2,048 MB", memory <= 2048)


def browsed(page: Path) -> Iterator[Row]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        for ratio in (1, 2):
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
            viewport: Any = {"width": 1600, "height": 900}
            opened = browser.new_context(viewport=viewport, device_scale_factor=ratio).new_page()
            opened.goto(page.as_uri())
            opened.wait_for_function(SHOWN, timeout=60_000)
            findings, timeline = (time / 1000 for time in opened.evaluate(OPEN))
            name = f"page, pixel ratio {ratio}"
            yield Row(f"{name}: findings painted", "-", (findings,), (), "s", "<= 1 s", findings <= 1)
            yield Row(f"{name}: timeline painted", "-", (timeline,), (), "s", "<= 2 s", timeline <= 2)
            yield panned(name, [opened.evaluate(PAN, [power, FRAMES]) for power in range(ZOOMS)])
            memory = renderer_memory(browser)
            yield Row(f"{name}: renderer", "-", (memory,), (), "MB", "<= 500 MB", memory <= 500)
            browser.close()


def panned(name: str, zooms: list[dict[str, Any]]) -> Row:
    """The worst of the zooms; each is a line below the table."""
    worst = [p95(zoom["script"]) for zoom in zooms]
    lines = [
        f"1/10^{power} of the trace: script p95 {p95(zoom['script']):.1f} ms, median "
        f"{statistics.median(zoom['script']):.1f} ms; presented every {statistics.median(zoom['between']):.1f} ms "
        f"(p95 {p95(zoom['between']):.1f}); {zoom['visited']:.2f} spans visited a pixel and lane"
        for power, zoom in enumerate(zooms)
    ]
    bar = "<= 33 ms"
    what = f"{name}: script of a frame, p95, worst of {ZOOMS} zooms"
    return Row(what, "-", (max(worst),), (), "ms", bar, max(worst) <= 33, evidence=tuple(lines))


def p95(times: list[float]) -> float:
    return sorted(times)[int(0.95 * (len(times) - 1))]


def renderer_memory(browser: Any) -> float:
    """Resident megabytes of the largest renderer, those that it shares with others divided among them."""
    found = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    sizes = []
    for process in found:
        if process["type"] == "renderer":
            text = Path(f"/proc/{process['id']}/smaps_rollup").read_text("utf-8")
            sizes.append(next(int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("Pss:")))
    return max(sizes)
