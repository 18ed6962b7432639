"""`eventide run`."""

import time
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperCommand

from eventide.cli._app import Json, app, check_script
from eventide.errors import UsageValueError


class _Run(TyperCommand):
    """As with python, what follows -m MODULE is the module's."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        flags = {name for one in self.params for name in one.opts if getattr(one, "is_flag", False)}
        place = 0
        while place < len(args) and args[place].startswith("-") and args[place] != "--":
            if args[place] == "-m" and place + 1 < len(args):
                args = [*args[: place + 2], "--", *args[place + 2 :]]
                break
            place += 1 if args[place] in flags or "=" in args[place] else 2
        return super().parse_args(ctx, args)


@app.command(cls=_Run, context_settings={"allow_interspersed_args": False})
def run(  # noqa: PLR0917 - typer makes options of them
    program: Annotated[
        list[str] | None, typer.Argument(metavar="SCRIPT [ARGS]...", help="The program and its arguments.")
    ] = None,
    module: Annotated[str, typer.Option("-m", metavar="MODULE", help="Run a module, as python -m does.")] = "",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The trace; .eventide unless another ending says so.")
    ] = None,
    ring: Annotated[bool, typer.Option("--ring", help="Keep only the newest, for a job of hours.")] = False,
    sample: Annotated[float, typer.Option(min=0, max=1e9, help="Milliseconds between sampled stacks; 0: none.")] = 10.0,
    start_on: Annotated[str, typer.Option(metavar="SIGNAL", help="Start recording when this signal comes.")] = "",
    seconds: Annotated[
        float, typer.Option(min=0, max=1e9, help="Stop recording after so many seconds; 0: at the end.")
    ] = 0.0,
    dump_on: Annotated[
        str, typer.Option(metavar="SIGNAL", help="Copy what is recorded so far when this signal comes, and go on.")
    ] = "",
    hang_seconds: Annotated[
        float | None,
        typer.Option(min=0.01, max=1e9, help="So too when nothing but samples was recorded for so many seconds."),
    ] = None,
    schedule: Annotated[
        str, typer.Option(metavar="WAIT,WARMUP,ACTIVE[,REPEAT]", help="Record these steps of torch's optimizer only.")
    ] = "",
    torch: Annotated[
        str, typer.Option(metavar="WHAT,...", help="Of torch: ops, shapes, flops, memory, modules; or none.")
    ] = "ops,modules",
    torch_seconds: Annotated[
        float,
        typer.Option(min=0, max=1e9, help="Seconds of torch's own profiler, anew from the first step; 0: no limit."),
    ] = 20.0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No summary.")] = False,
    as_json: Json = False,
) -> int:
    """Run a program unchanged and record what it does; the summary goes to stderr."""
    from eventide.cli import _output, _run
    from eventide.run import Settings, die_like, launch

    program = program or []
    if not module and not any(program[:1]):
        raise UsageValueError("name the program to run: eventide run script.py, or eventide run -m module")
    script = module or program[0]
    if not module:
        check_script(script, "run")
    if not module and Path(script).suffix in {".eventide", ".pftrace", ".parquet", ".json"}:
        raise UsageValueError(f"{script} is no program; to look at a trace, write: eventide report {script}")
    if output is None:
        stem = Path(script).stem or Path(script).resolve().name
        output = Path(f"{stem}-{time.strftime('%H%M%S')}.eventide")
    settings = Settings(
        path=str(_run.recording_path(output)),
        ring=ring,
        sample_ms=sample,
        start_on=_run.signal_name("--start-on", start_on),
        seconds=seconds,
        dump_on=_run.signal_name("--dump-on", dump_on),
        hang_seconds=hang_seconds,
        schedule=_run.steps(schedule),
        torch=_run.of_torch(torch),
        torch_seconds=torch_seconds,
    )
    _run.check_signals(settings)
    ended = launch(["-m", module, *program] if module else program, settings)
    _run.finish(ended, settings, output, quiet=quiet, as_json=as_json)
    _output.flush()
    return die_like(ended)
