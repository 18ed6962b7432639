"""What the page draws of the whole trace without a script: key figures, where the time went, and the steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from eventide._util import format as f
from eventide._util.html_text import text
from eventide.analysis import CAUSES, PHASES, Lane, Part, StepPhases
from eventide.report._gather import Report
from eventide.report._steps import is_split, limit_of

_DEVICES = 4  # with bars of their own, those with the most idle time; the table below has all
_LABEL = 11  # percent of the width that a label inside of a bar needs
_STEPS = 2000  # with a column
_HEIGHT = 72  # pixels of a column
_GAP = 2  # pixels between columns, where they are wide enough


def key_figures(report: Report) -> str:
    """A few numbers that describe the trace, each with what it is of."""
    shown = [(f.time(report.summary.wall), "traced", f.count(report.spans, "span") if report.spans else "")]
    lanes = _idlest(report)
    if lanes:
        busy, wall = sum(lane.wall - lane.idle for lane in lanes), sum(lane.wall for lane in lanes)
        of = lanes[0].device if len(lanes) == 1 else f"{len(lanes)} devices"
        shown.append((f.percent(busy, wall), f"{of} busy", f"idle {f.time(wall - busy)}"))
    whole = [device.whole for device in report.breakdown.devices]
    if exposed := sum(part.communication for part in whole):
        shown.append((f.percent(exposed, sum(part.wall for part in whole)), "exposed communication", f.time(exposed)))
    if report.steps:
        lengths = sorted(step.duration for step in report.steps)
        of = "step" if len(lengths) == 1 else f"median of {len(lengths):,} steps"
        shown.append((f.time(lengths[len(lengths) // 2]), of, f"longest {f.time(lengths[-1])}" if lengths[1:] else ""))
    if report.syncs.count:
        where = " of several threads" if report.syncs.total > report.summary.wall else ""
        shown.append((f.time(report.syncs.total), "host blocked", f"in {f.count(report.syncs.count, 'call')}{where}"))
    if report.compiles.count:
        shown.append((f.time(report.compiles.time), "compiling", f.count(report.compiles.count, "compile")))
    if peak := max((each.peak for each in report.memory.devices), default=0):
        shown.append((f.size(peak), "peak memory", "of a device"))
    if report.samples.count:
        shown.append((f"{report.samples.count:,}", "samples", "of Python stacks"))
    items = "".join(
        f"<li><strong>{text(number)}</strong> <span>{text(what)}</span> <small>{text(more)}</small></li>"
        for number, what, more in shown
    )
    return f'<section id="figures" aria-label="Key figures"><ul class="figures">{items}</ul></section>'


def _idlest(report: Report) -> list[Lane]:
    """The devices, most idle time first."""
    return sorted((each for each in report.idle.lanes if each.stream is None), key=lambda lane: -lane.idle)


def breakdown_bars(report: Report) -> str:
    """Of each device a bar whose parts sum to the whole, and one whose causes sum to its idle time."""
    order = {lane.device: place for place, lane in enumerate(_idlest(report))}
    lanes = {lane.device: lane for lane in _idlest(report)}
    devices = sorted(report.breakdown.devices, key=lambda device: order.get(device.device, len(order)))
    rows = [_device(device.device, device.whole, lanes.get(device.device)) for device in devices[:_DEVICES]]
    if len(devices) > _DEVICES:
        rows.append(
            f'<p class="note">{len(devices) - _DEVICES} devices with less idle time are in the table below.</p>'
        )
    return f'<section id="breakdown"><h2>Where the time went</h2>{"".join(rows)}</section>' if rows else ""


def _device(name: str, part: Part, lane: Lane | None) -> str:
    causes = {cause: lane.causes.get(cause, 0) for cause in CAUSES} if lane is not None else {}
    unknown = min(causes.get("unknown", 0), part.idle)
    parts = {
        "compute": part.compute, "communication": part.communication, "copy": part.copy,
        "overlap": sum(part.overlap.values()), "idle": part.idle - unknown, "idle, cause unknown": unknown,
    }  # fmt: skip
    styles = {name: name.rpartition(" ")[2] for name in parts}
    bars = f"<h3>{text(name)} <small>{f.time(part.wall)}</small></h3>{_bar(parts, part.wall, styles)}"
    if lane is None or not lane.idle:
        return bars
    shades = {cause: f"cause-{cause.replace(' ', '-')}" for cause in CAUSES}
    return f"{bars}<h3>Why it was idle <small>{f.time(lane.idle)}</small></h3>{_bar(causes, lane.idle, shades)}"


def _bar(parts: Mapping[str, int], whole: int, styles: Mapping[str, str]) -> str:
    """SVG, since its attributes need no inline style; the legend names every part, however small."""
    cells, keys, at = [], [], 0.0
    for name, time in parts.items():
        if time <= 0 or whole <= 0:
            continue
        share = 100 * time / whole
        label = f"{name} {f.percent(time, whole)}"
        about, inside = text(f"{label} ({f.time(time)})"), text(f.percent(time, whole))
        word = f'<text x="{at + 0.8:.3f}%" y="17">{inside}</text>' if share > _LABEL else ""
        cells.append(
            f'<g><title>{about}</title><rect class="{styles[name]}" x="{at:.3f}%" width="{share:.3f}%" height="26"/>'
            f"{word}</g>"
        )
        keys.append((styles[name], f"{label} · {f.time(time)}"))
        at += share
    described = text(", ".join(words for _, words in keys))
    return (
        f'<svg class="bar" role="img" aria-label="{described}" width="100%" height="26">{"".join(cells)}</svg>'
        f"{legend(keys)}"
    )


def legend(keys: Iterable[tuple[str, str]]) -> str:
    """Words, each behind a square in the colour of its class."""
    square = '<svg width="10" height="10" aria-hidden="true"><rect class="{}" width="10" height="10"/></svg>'
    items = "".join(f"<li>{square.format(style)} {text(words)}</li>" for style, words in keys)
    return f'<ul class="legend colours">{items}</ul>'


def step_columns(report: Report) -> str:
    """A column a step, with its parts; a link to its place on the timeline."""
    if len(report.steps) < 2:
        return ""
    steps = report.phases.steps[:_STEPS]
    limit = limit_of([step.duration for step in steps])
    cells = "".join(
        _column(step, number, 100 / len(steps), limit, report.idle.start) for number, step in enumerate(steps)
    )
    totals = report.phases.totals()
    keys = [(phase, f"{phase} {f.percent(time, sum(totals.values()))}") for phase, time in totals.items() if time]
    longer = "; longer steps end there" if any(step.duration > limit for step in steps) else ""
    more = f" The first {_STEPS:,} of {len(report.steps):,}." if len(report.steps) > _STEPS else ""
    note = f'<p class="note">Full height: {f.time(limit)}{longer}.{more}</p>'
    return (
        f'<section id="steps"><h2>Steps</h2><svg class="steps" width="100%" height="{_HEIGHT}">{cells}</svg>{note}'
        f"{legend(keys) if is_split(report.phases) else ''}</section>"
    )


def _column(step: StepPhases, number: int, width: float, limit: int, origin: int) -> str:
    """A link to the step, with its parts from the bottom up."""
    parts = [(phase, getattr(step, phase)) for phase in (*PHASES, "other") if getattr(step, phase)]
    about = text(
        f"{step.name}: {f.time(step.duration)}; " + ", ".join(f"{phase} {f.time(time)}" for phase, time in parts)
    )
    scale = (_HEIGHT - _GAP) / max(limit, step.duration)
    bars, bottom = "", float(_HEIGHT)
    for phase, time in parts:
        height = scale * time
        bottom -= height
        place = f'x="{number * width:.3f}%" width="{width * 0.9:.3f}%" y="{bottom:.2f}"'
        bars += f'<rect class="{phase}" {place} height="{height:.2f}"/>'
    where = f"#v={step.start - origin},{step.start + step.duration - origin}"
    return f'<a href="{where}" aria-label="{about}"><title>{about}</title>{bars}</a>'
