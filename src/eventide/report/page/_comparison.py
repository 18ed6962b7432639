"""Two traces as a page: what explains the difference, as bars around zero and as tables."""

from __future__ import annotations

from collections.abc import Sequence

from eventide._util import format as f
from eventide._util.html_text import text
from eventide.analysis import Comparison, Delta, StepDelta
from eventide.report._answers import signed
from eventide.report.page._document import document
from eventide.report.page._figures import legend

_ROWS, _STEPS, _BARS = 200, 400, 24
_KEYS = (("before", "before"), ("after", "after"))


def make_comparison(result: Comparison, before: str, after: str) -> str:
    """The page of a comparison; `before` and `after` are the names of the two traces."""
    share = f" ({result.difference / result.wall_a:+.1%})" if result.wall_a else ""
    verdict = "bad" if result.difference > 0 else "good"
    facts = f"{f.time(result.wall_a)} became {f.time(result.wall_b)}: {signed(result.difference)}{share}"
    device = result.device_b or result.device_a
    of = f" of {device}" if device else ""
    main = [
        *(f'<section><p class="warning">Not alike: {text(warning)}</p></section>' for warning in result.warnings),
        f'<section><p class="verdict {verdict}">{text(facts)}</p></section>',
        _bars(f"What explains the difference{of}", result.parts),
        _steps(result.steps),
        _table("Device work", result.device),
        _table("Host code, self time", result.host),
    ]
    return document(f"{before} and {after}", facts, "\n".join(filter(None, main)), command="eventide trace compare")


def _bars(title: str, deltas: Sequence[Delta]) -> str:
    """One bar a part: to the right what takes longer now, to the left what takes less."""
    shown = [each for each in deltas[:_BARS] if each.difference]
    if not shown:
        return ""
    widest = max(abs(each.difference) for each in shown)
    rows = []
    for each in shown:
        width = 49 * abs(each.difference) / widest
        x = 50 if each.difference > 0 else 50 - width
        kind = "worse" if each.difference > 0 else "better"
        rows.append(
            f'<tr><th scope="row">{text(each.name)}</th><td class="word">{text(each.category)}</td>'
            f'<td class="number">{f.time(each.a)}</td><td class="number">{f.time(each.b)}</td>'
            f'<td class="number">{text(signed(each.difference))}</td>'
            f'<td><svg class="delta" width="100%" height="14" aria-hidden="true"><rect class="{kind}" x="{x:.3f}%" '
            f'width="{width:.3f}%" height="14"/><rect class="zero" x="50%" width="1" height="14"/></svg></td></tr>'
        )
    return (
        f'<section><h2>{text(title)}</h2><table class="deltas"><thead><tr><th scope="col">part</th>'
        '<th scope="col">kind</th><th scope="col" class="number">before</th><th scope="col" class="number">after</th>'
        '<th scope="col" class="number">difference</th><th scope="col" class="zero">less | more</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></section>"
    )


def _steps(pairs: Sequence[StepDelta]) -> str:
    """Two bars a step, before and after."""
    shown = pairs[:_STEPS]
    lengths = [step.duration for pair in shown for step in (pair.a, pair.b) if step is not None]
    if not lengths or not max(lengths):
        return ""
    longest, width = max(lengths), 100 / len(shown)
    cells = []
    for number, pair in enumerate(shown):
        for side, (step, kind) in enumerate(((pair.a, "before"), (pair.b, "after"))):
            if step is None:
                continue
            height = 58 * step.duration / longest
            cells.append(
                f"<g><title>{text(f'{step.name}, {kind}: {f.time(step.duration)}')}</title>"
                f'<rect class="{kind}" x="{number * width + side * width * 0.43:.3f}%" width="{width * 0.41:.3f}%" '
                f'y="{60 - height:.2f}" height="{height:.2f}"/></g>'
            )
    left = f"<p>{len(pairs) - _STEPS:,} more steps.</p>" if len(pairs) > _STEPS else ""
    return (
        '<section><h2>Steps, before and after</h2><svg class="pairs" role="img" aria-label="Length of each step before '
        f'and after" width="100%" height="60">{"".join(cells)}</svg>{legend(_KEYS)}{left}</section>'
    )


def _table(title: str, deltas: Sequence[Delta]) -> str:
    if not deltas:
        return ""
    rows = "".join(
        f'<tr><td>{text(each.name)}</td><td class="word">{text(each.category)}</td>'
        + "".join(f'<td class="number">{text(cell)}</td>' for cell in _cells(each))
        + "</tr>"
        for each in deltas[:_ROWS]
    )
    heads = ("name", "kind", "count before", "count after", "before", "after", "difference")
    head = "".join(f'<th scope="col"{" class=number" if n > 1 else ""}>{name}</th>' for n, name in enumerate(heads))
    more = f"<p>{len(deltas) - _ROWS:,} more names.</p>" if len(deltas) > _ROWS else ""
    return (
        f'<section><h2>{text(title)}</h2><div class="scroll" tabindex="0" role="region" aria-label="{text(title)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{more}</section>"
    )


def _cells(each: Delta) -> tuple[str, ...]:
    counts = f"{each.count_a:,}", f"{each.count_b:,}"
    return (*counts, f.time(each.a), f.time(each.b), signed(each.difference))
