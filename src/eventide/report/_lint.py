"""What is odd about a trace, as text."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from eventide.analysis import Lint


def render_lint(result: Lint) -> RenderableType:
    """A paragraph a finding: how many, of how many, the first one, and what it means."""
    if not result.findings:
        return Text(f"Nothing odd: {len(result.rules)} rules looked at the trace.")
    parts: list[RenderableType] = []
    for finding in result.findings:
        of = f" of {finding.checked:,}" if finding.checked is not None else ""
        parts.append(Text.assemble((f"{finding.count:,}{of} ", "bold"), (finding.rule, "bold")))
        if finding.example:
            parts.append(
                Text(f"  such as {finding.example}" if finding.checked is not None else f"  {finding.example}")
            )
        parts += [Text(f"  {finding.meaning}", style="dim"), Text("")]
    clean = [rule for rule in result.rules if rule not in {finding.rule for finding in result.findings}]
    parts.append(Text(f"Nothing found: {', '.join(clean)}." if clean else "Every rule found something."))
    return Group(*parts)
