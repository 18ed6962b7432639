"""A DemoResult as text for a terminal of 80 columns or more."""

from statistics import median

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from eventide._util import format as fmt
from eventide.cli._findings_text import print_hanging
from eventide.cli.demo._measure import DemoResult, Outcome
from eventide.cli.demo._record import Recorded
from eventide.cli.demo._timeline import draw, overlap
from eventide.report import Fitted

_LOADERS = {
    "zlib": "inflates and normalises a shard into one of two slots",
    "link": "receives a shard into one of two slots",
}
_TESTS_PASS = 0.02  # a loss that is off by less is within what tests allow for


def show_demo(result: DemoResult, console: Console) -> None:
    """Print the whole result, within the width of the console."""
    network = f"a 784-{result.width}-10 network"
    console.print(f"[b]Train {network} on {result.shards} shards, in {_count(len(result.seeds), 'order')}[/b]")
    console.print(f"  load   {_LOADERS[result.loader]}")
    console.print(f"  train  takes a gradient step from the slot (train : load = {result.train_to_load:.2f})")
    for note in result.notes:
        console.print(f"[yellow]Note:[/yellow] {escape(note)}.")
    console.print()
    console.print(_variants(result))
    console.print()
    for line in conclusions(result):
        console.print(escape(line))
    console.print()
    _show_timeline(result, console)
    console.print("\n[b]Recorded in that run[/b]")
    console.print(_recorded(result.recorded))
    for line in recorded_lines(result.recorded):
        console.print(escape(line))
    console.print("\n[b]Callbacks of that run[/b]")
    console.print(_callbacks(result.callbacks))
    console.print()
    for line in sanitizer_lines(result):
        print_hanging(Text(line), console)
    console.print(f"\nThe program: {escape(result.program)}", soft_wrap=True)
    console.print(f"All of this took {result.seconds:.1f} s.")


def conclusions(result: DemoResult) -> list[str]:
    """The conclusions from the figures, one sentence a line."""
    _, events, broken = result.outcomes
    same = f"{events.identical} of {_count(events.runs, 'run')}"
    lines = [f"With events: {_pace(events.speedup)}, bit-identical weights in {same}."]
    if result.findings:
        lines.append("Every wait was there, so that is a bug of eventide: please report it.")
    without = f"Without {result.deleted}, line {result.deleted_line}"
    if broken.identical == broken.runs:
        return [*lines, f"{without}: nothing went wrong this time.", "The wait is still missing."]
    lines.append(f"{without}: {broken.runs - broken.identical} of {_count(broken.runs, 'run')} end with other weights.")
    lines.append(f"No error was raised; their loss is off by {_off(broken.loss_off)}.")
    if max(map(abs, broken.loss_off)) < _TESTS_PASS:
        lines.append("A test of the loss passes.")
    return lines


def sanitizer_lines(result: DemoResult) -> list[str]:
    """The findings in the variant with the deleted wait, and the cost of the fix."""
    said = result.sanitizer
    runs = _count(said.runs, "run")
    lines = [f"The sanitizer on '{result.outcomes[2].variant}': {said.kind}, {said.count} times in {runs}"]
    where = "every run" if said.found == said.runs else f"{said.found} of them"
    also = f"also in {said.right} whose weights were right" if said.right else "and no run ended with the right weights"
    late = ", since its loader was slow" if said.slowed else ""
    lines.append(f"   Found in {where}, {also}{late}.")
    for label, side in (("first", said.first), ("second", said.second)):
        lines.append(f"   {label:7} '{side.work}' {side.verb} the slot at line {side.line}: {side.code}")
    lines.append(f"   fix     {said.fix}")
    lines.append(f"   cost    {_cost(result)}")
    lines.append(f"The other two variants: {said.others}.")
    return lines


def _cost(result: DemoResult) -> str:
    """The cost of the line that the fix adds."""
    costs, run = result.fix_costs, result.outcomes[2].milliseconds
    measured = f"{costs:+.0f} ms on a run of {run:.0f} ms ({100 * costs / run:+.0f} %), medians of the runs above"
    return f"{measured}; that is within the noise" if costs <= 0 else measured


def _pace(speedup: float) -> str:
    return f"{speedup:.2f}x as fast" if speedup >= 1.05 else f"no gain ({speedup:.2f}x)"


def _off(loss_off: tuple[float, ...]) -> str:
    """The median and the range of the differences, without sign, in percent."""
    values = [100 * abs(value) for value in loss_off]
    texts = [
        f"{value:.0f} %" if value >= 10 else f"{value:.2g} %" for value in (median(values), min(values), max(values))
    ]
    return texts[0] if len(values) == 1 else f"{texts[0]} (median; {texts[1]} to {texts[2]})"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _variants(result: DemoResult) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("variant")
    for heading in ("median", "speed", "cores used", "same weights"):
        table.add_column(heading, justify="right", no_wrap=True)
    for index, outcome in enumerate(result.outcomes):
        table.add_row(*_cells(outcome, serial=index == 0))
    return table


def _cells(outcome: Outcome, *, serial: bool) -> tuple[str, str, str, str, str]:
    colour = "green" if outcome.identical == outcome.runs else "red"
    same = "the truth" if serial else f"[{colour}]{outcome.identical} of {outcome.runs}[/{colour}]"
    milliseconds = f"{outcome.milliseconds:.0f} ms"
    return escape(outcome.variant), milliseconds, f"{outcome.speedup:.2f}x", f"{outcome.cores:.2f}", same


def _show_timeline(result: DemoResult, console: Console) -> None:
    total, both = max(span.end for span in result.timeline), overlap(result.timeline)
    heading = f"[b]One run with events, seed {result.seeds[0]}[/b]"
    console.print(f"{heading}: {total:.0f} ms, both streams busy for {both:.0f} ms of it ({100 * both / total:.0f} %)")
    ascii_only = console.options.ascii_only
    for line in draw(result.timeline, console.width, ascii_only=ascii_only):
        console.print(line, no_wrap=True, crop=True)
    slots = "= slot 0, - slot 1, . waiting" if ascii_only else "━ slot 0, ─ slot 1, · waiting"
    console.print(f"[dim]numbers are shards; {slots}[/dim]")


def _callbacks(callbacks: dict[str, int]) -> Table:
    """Hooks in two columns, column by column; also those without a call."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for _ in range(2):
        table.add_column(no_wrap=True)
        table.add_column(justify="right", min_width=5)
    names = list(callbacks)
    half = (len(names) + 1) // 2
    for left, right in zip(names[:half], [*names[half:], *[""] * (2 * half - len(names))], strict=True):
        table.add_row(left, str(callbacks[left]), f"   {right}", str(callbacks.get(right, "")))
    return table


def _recorded(recorded: Recorded) -> Fitted:
    """Work by name, then the streams it ran on."""
    work = [
        (row.name, f"{row.count:,}", fmt.time(row.total), fmt.time(row.median), fmt.time(row.max))
        for row in recorded.work
    ]
    streams = [
        (f"stream {row.stream}", f"{row.count:,}", fmt.time(row.busy), fmt.percent(row.busy, row.wall), "")
        for row in recorded.streams
    ]
    return Fitted(("work", "count", "total", "median", "max"), [*work, *streams], 1)


def recorded_lines(recorded: Recorded) -> list[str]:
    """What the host did meanwhile, what was lost, and the files."""
    native, view, page = recorded.files
    blocked = f"The host blocked {recorded.sync_count} times, {fmt.time(recorded.sync_time)} in all."
    return [
        f"{blocked} {recorded.records:,} records, {recorded.dropped:,} dropped.",
        f"Saved as {native} (try: eventide report {native}), {page} (its report: open it in a browser) and {view}.",
    ]
