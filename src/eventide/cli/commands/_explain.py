"""`eventide explain`: the rules behind the findings of a report."""

from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from eventide.cli import _output
from eventide.cli._app import app
from eventide.cli._arguments import Json


@app.command()
def explain(
    rule: Annotated[
        str | None, typer.Argument(help="The name of a rule; default: list them all.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Explain a rule of `eventide report`: when it applies, what it says, what to do, how sure it is."""
    from eventide.report import RULES, rule_named
    from eventide.report import explain as parts_of

    chosen = [rule_named(rule)] if rule is not None else list(RULES.values())
    if as_json:
        _output.print_json([{"rule": each.name, **parts_of(each)} for each in chosen])
    elif rule is not None:
        _output.write_text(_one(chosen[0].name, parts_of(chosen[0])))
    else:
        _output.write_text(_grid({each.name: each.condition for each in chosen}))


def _one(name: str, parts: dict[str, str]) -> RenderableType:
    return Group(Text(name, style="bold"), _grid(parts))


def _grid(rows: dict[str, str]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for head, text in rows.items():
        grid.add_row(head, Text(text))
    return grid
