"""What a handled error keeps alive on devices whose markers the core polls."""

import weakref

import eventide as et
from tests.helpers import TIMEOUT, Boom, assert_is_freed


def handle_an_error():
    """The frame of this function is in the traceback, and has the stream and the Future."""
    stream, error, caught = et.Stream("sim"), Boom(), []

    def fail():
        raise error

    failed = stream.submit(fail)
    try:
        stream.synchronize(TIMEOUT)
    except Boom as raised:
        caught.append(raised)
    assert failed.done()
    return weakref.ref(stream)


def test_a_handled_error_keeps_neither_its_stream_nor_its_future():
    for reference in [handle_an_error() for _ in range(10)]:
        assert_is_freed(reference, "the stream of a handled error")
