"""The commands. They return an exit code or raise; only `main` prints errors.

Exit codes: 0 fine, 1 findings, 2 misuse or an error. 130 is Ctrl-C, as in a shell.
"""

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, cast

import typer

import eventide as et
from eventide.cli import _output
from eventide.errors import EventideError, UsageValueError

# The class that typer raises for a wrong command line. Newer versions carry their own click, older ones import it, and
# neither exports this one.
_CommandLineError = cast(type[Exception], typer.BadParameter.__mro__[2])

app = typer.Typer(
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Streams and events on any device, and what exactly happened on them.",
    epilog="Exit code: 0 fine, 1 findings, 2 misuse.",
)
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        print(f"eventide {et.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def demo(
    runs: Annotated[int, typer.Option(min=1, help="Runs of each variant.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first run; each further run takes the next.")] = 0,
    as_json: Json = False,
) -> int:
    """Train a small network with overlapped loading: what two streams gain, and what one missing wait costs."""
    from eventide.cli import _demo, _demo_text

    with _output.progress(_demo.steps(runs)) as step:
        result = _demo.demo(runs, seed, step)
    if as_json:
        _output.print_json(result)
    else:
        _demo_text.show_demo(result, _output.stdout())
    return 1 if result.findings else 0


@app.command()
def devices(as_json: Json = False) -> int:
    """List the devices and what each can do."""
    from eventide.cli import _devices

    found = _devices.list_devices()
    if as_json:
        _output.print_json(found)
    else:
        _devices.show_devices(found, _output.stdout())
    return 0


@app.command()
def conformance(  # noqa: PLR0917 - typer makes options of them
    device: Annotated[str, typer.Option(help="The device, such as 'cpu' or 'mine:1'.")],
    save: Annotated[Path | None, typer.Option(help="Add the row to this Markdown table.")] = None,
    only: Annotated[str, typer.Option(help="Only checks with these words, or of this decision, such as 3.4.")] = "",
    limit: Annotated[float, typer.Option(min=0.1, help="Seconds after which a check counts as stuck.")] = 20.0,
    modules: Annotated[
        list[str] | None, typer.Option("--import", help="Import this module, .py or .so first: it brings the device.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Check that a device does what the runtime promises, whoever wrote it."""
    from eventide.cli import _conformance
    from eventide.testing.conformance import CHECKS, run

    _conformance.import_all(modules or ())
    if save is not None and save.is_dir():
        raise UsageValueError(f"{save} is a directory; name a Markdown file, such as verified.md")
    checks = _conformance.select(only) if only else CHECKS
    with _output.progress(len(checks)) as step:
        report = run(device, checks=checks, limit=limit, step=step)
    if save is not None:
        report.save(save)
    if as_json:
        _output.print_json(report)
    else:
        _conformance.show_report(report, _output.stdout())
    return 1 if report.failed else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (sys.argv when none is given) and return the exit code."""
    try:
        code = app(args=arguments, prog_name="eventide", standalone_mode=False)
    except _CommandLineError as error:
        return _fail(_describe(error))
    except typer.Abort:
        return _fail("interrupted", 130)
    except EventideError as error:
        return _fail(str(error))
    except Exception as error:  # noqa: BLE001 - the last line of defence: say whose fault it is
        traceback.print_exc()
        return _fail(f"internal error, {error!r}; please report this with the lines above")
    return code if isinstance(code, int) else 0


def _describe(error: Exception) -> str:
    """Turn a wrong command line into one line that ends in the remedy."""
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "eventide"
    return f"{message.rstrip('.')} (see '{command} --help')"


def _fail(message: str, code: int = 2) -> int:
    print(f"eventide: {' '.join(message.split())}", file=sys.stderr)
    return code
