"""`eventide view`: a trace in the Perfetto UI."""

import errno
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from eventide.cli import _output
from eventide.cli._app import app
from eventide.cli._arguments import NewestTrace, trace_or_newest
from eventide.errors import EventideError, UsageValueError


@app.command()
def view(
    trace: NewestTrace = None,
    ui: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="An unzipped release of the Perfetto UI, instead of ui.perfetto.dev."),
    ] = None,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the browser, or only print the address.")
    ] = True,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of the server; ui.perfetto.dev connects to 9001 only.")
    ] = 9001,
) -> int:
    """Open a trace in the Perfetto UI. It is served to that page on this machine alone, until the page has it."""
    import eventide as et

    if ui is not None and not (ui / "index.html").is_file():
        raise UsageValueError(f"{ui} is not an unzipped Perfetto UI: it has no index.html")
    path = trace_or_newest(trace)
    with tempfile.TemporaryDirectory(prefix="eventide-view-") as folder:
        with _output.progress(2) as step:
            step("reading")
            opened = et.open_trace(path)
            step("writing")
            file = opened.save(Path(folder) / f"{path.name.partition('.')[0] or 'trace'}.pftrace")
        return _serve(Path(file), ui, open_browser, port)


def _serve(file: Path, ui: Path | None, open_browser: bool, port: int) -> int:
    import threading
    import webbrowser

    from eventide.cli._trace_server import TraceServer

    try:
        server = TraceServer(file, ui, port)
    except OSError as error:
        taken = "; another `eventide view` or trace_processor uses it" if error.errno == errno.EADDRINUSE else ""
        raise EventideError(f"cannot serve on 127.0.0.1:{port}: {error.strerror}{taken}") from error
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        _output.say(f"eventide: open {server.address}")
        _output.say("eventide: the trace stays in the browser: the page reads it from this machine and uploads nothing")
        if open_browser and not webbrowser.open(server.address):
            _output.say("eventide: no browser could be started; open the address yourself")
        try:
            server.fetched.wait()
            if ui is not None:
                _output.say("eventide: the page has the trace; its own files are served until Ctrl-C")
                threading.Event().wait()
        finally:
            server.shutdown()
            thread.join()
    return 0
