"""A flood for `benchmarks.flood` and for tests, in a process of its own, which ends by itself: events of invented
projects at a steady rate, and connections that never finish their request.

    python -m benchmarks.flood_sender PORT [--rate 1000] [--half-open 500] [--seconds 60]
    python -m benchmarks.flood_sender PORT --bare

Only this machine can be flooded. With --bare it is a server instead, which answers 202 to everything. The last line it
prints is JSON: how many events were answered, and how many of them with 202.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

SECRET_VARIABLE = "FLOOD_SECRET"
HOST = "127.0.0.1"
SENDERS = 20  # connections that bring events; each waits for an answer before it sends again
FIRST_ID = 1_000_000
ANSWER = b"HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


class Flood:
    """A flood that is running; what it did is known when it has ended."""

    answered = 0
    accepted = 0


@contextmanager
def flood(port: int, secret: str, *, rate: int, half_open: int, seconds: float) -> Iterator[Flood]:
    """Flood a port of this machine for the length of a block, but no longer than so many seconds."""
    arguments = (str(port), f"--rate={rate}", f"--half-open={half_open}", f"--seconds={seconds}")
    result = Flood()
    with _process(*arguments, secret=secret) as process:
        yield result
        process.terminate()
        lines = process.communicate()[0].splitlines()
    result.__dict__.update(json.loads(lines[-1]))


@contextmanager
def bare_server(port: int, seconds: float) -> Iterator[None]:
    """A server for the same flood that does nothing."""
    with _process(str(port), "--bare", f"--seconds={seconds}"):
        yield


@contextmanager
def _process(*arguments: str, secret: str = "") -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "benchmarks.flood_sender", *arguments]
    environment = {**os.environ, SECRET_VARIABLE: secret}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            process.stdout.readline()  # it has started
            yield process
        finally:
            process.kill()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("port", type=int)
    arguments.add_argument("--rate", type=int, default=1000)
    arguments.add_argument("--half-open", type=int, default=500)
    arguments.add_argument("--seconds", type=float, default=60.0)
    arguments.add_argument("--bare", action="store_true")
    asyncio.run(_run(arguments.parse_args()))


async def _run(options: argparse.Namespace) -> None:
    told_to_stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told_to_stop.set)
    statuses: Counter[str] = Counter()
    if options.bare:
        await asyncio.start_server(_answer, HOST, options.port, backlog=1000)
        jobs = []
    else:
        start, numbers = time.monotonic(), itertools.count()
        senders = SENDERS if options.rate else 0
        jobs = [_send(options.port, options.rate, start, numbers, statuses) for _ in range(senders)]
        jobs += [_hold(options.port) for _ in range(options.half_open)]
    tasks = [asyncio.create_task(job) for job in jobs]
    print("started", flush=True)
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(told_to_stop.wait(), options.seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    print(json.dumps({"answered": sum(statuses.values()), "accepted": statuses["202"]}), flush=True)


async def _send(port: int, rate: int, start: float, numbers: Iterator[int], statuses: Counter[str]) -> None:
    """Send one event after another, each at its time or, if answers are slow, as soon as the one before is answered."""
    secret, body = os.environ.get(SECRET_VARIABLE, ""), b'{"action": "ANNOTATION_CREATED"}'
    head = f"X-LS-Crowd-Secret: {secret}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    while True:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection(HOST, port)
            try:
                for number in numbers:
                    await asyncio.sleep(max(start + number / rate - time.monotonic(), 0.0))
                    path = f"POST /webhook/{FIRST_ID + number} HTTP/1.1\r\nHost: {HOST}\r\n"
                    writer.write((path + head).encode() + body)
                    statuses[await _read_message(reader)] += 1
            finally:
                writer.close()
        await asyncio.sleep(0.1)


async def _hold(port: int) -> None:
    """Keep a connection that sends a header now and then and never the last one; open another when it is closed."""
    while True:
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection(HOST, port)
            try:
                writer.write(b"POST /webhook/1 HTTP/1.1\r\n")
                while not reader.at_eof():
                    writer.write(b"X-More: 1\r\n")
                    with contextlib.suppress(asyncio.TimeoutError):
                        await asyncio.wait_for(reader.read(1000), 5.0)
            finally:
                writer.close()
        await asyncio.sleep(1.0)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        while True:
            await _read_message(reader)
            writer.write(ANSWER)


async def _read_message(reader: asyncio.StreamReader) -> str:
    """Read a request or an answer, and return the second word of its first line: of an answer the status."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = head.partition("content-length:")[2].partition("\r")[0]
    await reader.readexactly(int(length or 0))
    return head.split(" ", 2)[1]


if __name__ == "__main__":
    main()
