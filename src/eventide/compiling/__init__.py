"""Compile callbacks: functions that run when any compiler starts or ends.

    on_compile_start, on_compile_end, callback_handler   the outermost compile of all threads   _handler.py
    on_each_compile                                       every compile, as a CompileRecord      _handler.py
    CallbackTrigger, CallbackArgs                         arguments of start and end callbacks       _record.py
    Compile, CompileRecord                                a running one, an ended one        _handler.py, _record.py
    (what a callback is called with)                      CallbackArgs or nothing            _signature.py

Each compile is also a span of category "compile" when something is being recorded (_record.py).

The names and arguments are those of ``torch._dynamo.callback``. Compilers are connected by
``eventide.integrations``; others use ``with callback_handler.install_callbacks(trigger, compile_id): ...``.
"""

from eventide._util.public_names import publish
from eventide.compiling._handler import (
    CompilationCallbackHandler,
    Compile,
    callback_handler,
    on_compile_end,
    on_compile_start,
    on_each_compile,
)
from eventide.compiling._record import CallbackArgs, CallbackTrigger, CompileRecord

__all__ = [
    "CallbackArgs",
    "CallbackTrigger",
    "CompilationCallbackHandler",
    "Compile",
    "CompileRecord",
    "callback_handler",
    "on_compile_end",
    "on_compile_start",
    "on_each_compile",
]

publish(__name__, globals(), __all__)
