"""Waiting in asyncio: a ticket for a marker, and a loop that is woken when the marker ended. The loop never blocks."""

import asyncio
from collections.abc import Generator
from typing import Any

from eventide._native import Ticket


def wait_for(ticket: Ticket) -> Generator[Any, None, None]:
    """What ``__await__`` of events and streams returns. A cancelled wait loses no error: the stream keeps it.

    Other coroutines get a turn also if nothing is pending, as with a Future: so coroutines meet in the same order on a
    device that is fast, or that runs in virtual time.
    """
    return _wait(ticket).__await__()


async def _wait(ticket: Ticket) -> None:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not ended.done():
            ended.set_result(None)

    def wake_loop() -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(wake)

    pending = ticket.notify(wake_loop)
    try:
        await (ended if pending else asyncio.sleep(0))
    except asyncio.CancelledError:
        ticket.abandon()
        raise
    ticket.result()
