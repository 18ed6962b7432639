"""A program that does not use Eventide: asyncio, a subprocess, its own signal handler and exit handler."""

import asyncio
import atexit
import os
import signal
import sys


async def child(n: int) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", f"import os; print({n} * 2, 'EVENTIDE_RUN' in os.environ)", stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    return out.decode().strip()


async def main() -> None:
    received: list[int] = []
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, received.append, 1)
    os.kill(os.getpid(), signal.SIGUSR2)
    print(await asyncio.gather(*(child(n) for n in range(3))))
    await asyncio.sleep(0)
    print("received", len(received))


if __name__ == "__main__":
    atexit.register(print, "goodbye")
    asyncio.run(main())
