"""`eventide devices`."""

from eventide.cli import _output
from eventide.cli._app import Json, app


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
