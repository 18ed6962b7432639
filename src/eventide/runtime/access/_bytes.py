"""Bytes that threads of this process send to each other: pipes, sockets, connections of multiprocessing.

What a thread has received comes after all that was sent on that channel up to then. A socket is known by its two ports
or paths, or by the ``socket.socketpair`` that made it. Not detected: datagrams, TLS, files, and pairs made before.
"""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Callable
from typing import Any, NamedTuple

from eventide import _native

_FAMILIES_WITH_PORTS = frozenset({2, 10, 30})  # AF_INET; AF_INET6 of Linux and macOS


class _End(NamedTuple):
    """The tokens of one end of a channel."""

    sent: int
    received: int


_ends: dict[tuple[int, int], _End] = {}
"""Of each pipe, and of each end of a pair of sockets, by device and inode."""
_names: dict[tuple[Any, ...], int] = {}
"""Of each direction of other sockets, by the ports or paths of sender and receiver: its token."""
# No lock guards them: a finalizer may close a file at any point. Each access is atomic.


def forget() -> None:
    """The system uses the numbers of files and ports again."""
    _ends.clear()
    _names.clear()


def _end_of_file(fd: Any) -> _End | None:
    try:
        about = os.fstat(fd)
    except (OSError, TypeError, OverflowError):
        return None  # the call itself raises
    key = about.st_dev, about.st_ino
    if stat.S_ISFIFO(about.st_mode) and key not in _ends:
        token = _native.new_token()
        return _ends.setdefault(key, _End(token, token))
    return _ends.get(key)


def _end_of_socket(socket: Any) -> _End | None:
    if end := _end_of_file(socket.fileno()):
        return end
    try:
        here, there = socket.getsockname(), socket.getpeername()
    except OSError:
        return None  # it is not connected
    if socket.family in _FAMILIES_WITH_PORTS:
        here, there = here[1], there[1]  # one address may be written in several ways
    if not here and not there:
        return None
    both = (socket.family, here, there), (socket.family, there, here)
    return _End(*(_names.get(name) or _names.setdefault(name, _native.new_token()) for name in both))


def _end_of_connection(connection: Any) -> _End | None:
    return None if connection.closed else _end_of_file(connection.fileno())


def _sends(end_of: Callable[[Any], _End | None]) -> Callable[[Any], Any]:
    """The call signals what this thread did, to who reads at the other end."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def send(channel: Any, *args: Any, **kwargs: Any) -> Any:
            if end := end_of(channel):
                _native.host_signal(end.sent)
            return original(channel, *args, **kwargs)

        return send

    return make


def _receives(end_of: Callable[[Any], _End | None]) -> Callable[[Any], Any]:
    """The call returns what was sent, or the end, also as an error."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def receive(channel: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                data = original(channel, *args, **kwargs)
            except (EOFError, ConnectionError):
                _received(end_of(channel))
                raise
            _received(end_of(channel))
            return data

        return receive

    return make


def _received(end: _End | None) -> None:
    if end:
        _native.host_wait(end.received)


def _make_pair(original: Callable[..., Any]) -> Callable[..., Any]:
    """Replaces ``socket.socketpair``: neither end has a name."""

    @functools.wraps(original)
    def socketpair(*args: Any, **kwargs: Any) -> Any:
        pair = original(*args, **kwargs)
        abouts = [os.fstat(end.fileno()) for end in pair]
        tokens = _native.new_token(), _native.new_token()
        for about, end in zip(abouts, (_End(*tokens), _End(*reversed(tokens))), strict=True):
            _ends[about.st_dev, about.st_ino] = end
        return pair

    return socketpair


PATCHES: tuple[tuple[Any, str, Callable[[Any], Any]], ...] = (
    (os, "write", _sends(_end_of_file)),
    (os, "close", _sends(_end_of_file)),
    (os, "read", _receives(_end_of_file)),
)
PATCHES_OF_SOCKETS: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("", "socketpair", _make_pair),
    *(("socket", name, _sends(_end_of_socket)) for name in ("send", "sendall", "sendmsg", "shutdown", "close")),
    *(("socket", name, _receives(_end_of_socket)) for name in ("recv", "recv_into", "recvmsg", "recvmsg_into")),
)
"""Of ``socket``, which may not be imported yet."""
PATCHES_OF_CONNECTIONS: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    *(("Connection", name, _sends(_end_of_connection)) for name in ("send", "send_bytes", "close")),
    *(("Connection", name, _receives(_end_of_connection)) for name in ("recv", "recv_bytes", "recv_bytes_into")),
)
"""Of ``multiprocessing.connection``. Its methods have the functions of ``os`` from before."""
