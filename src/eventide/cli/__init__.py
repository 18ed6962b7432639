"""The command line: the one place that prints and knows exit codes. Commands raise, `main` tells.

_main       errors and exit codes              _app         what commands attach themselves to
_command_*  a command and its options, each
_demo       `eventide demo`: measure          _demo_text   ... and show it
_calibrate  make load and train of one size   _timeline    one traced run, drawn
_program    finds examples/prefetch.py        _devices     `eventide devices`
_output     consoles, progress, JSON
"""

from eventide.cli._main import main

__all__ = ["main"]
