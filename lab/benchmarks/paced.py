"""Calls at a fixed rate, each on time: python -m lab.benchmarks.paced URL RATE [SECONDS]

Prints the times to the answer as JSON, counted from when a call was to be sent: a server that
stands still is not asked more gently.
"""

import asyncio
import json
import secrets
import sys
import time
from urllib.parse import urlsplit

from tests.journeys.callers import HEADERS, event

SECONDS, CONNECTIONS = 5.0, 32


async def main(url: str, rate: float, seconds: float = SECONDS) -> None:
    address, count, run = urlsplit(url), int(rate * seconds), secrets.token_hex(6)
    began = time.monotonic() + 0.5
    took: list[float] = []
    slots = iter(range(count))

    async def line() -> None:
        for number in slots:
            moment = began + number / rate
            await asyncio.sleep(moment - time.monotonic())
            # The web keeps no connection (decision 21).
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
            writer.write(request(address.netloc, address.path, event(f"{run}-{number}")))
            await answer(reader)
            writer.close()
            took.append(time.monotonic() - moment)

    await asyncio.gather(*(line() for _ in range(CONNECTIONS)))
    took.sort()
    parts = {"p50": took[count // 2], "p99": took[int(count * 0.99)], "max": took[-1]}
    print(json.dumps(parts))


def request(host: str, path: str, body: bytes) -> bytes:
    lines = [f"POST {path} HTTP/1.1", f"Host: {host}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in HEADERS.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def answer(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in head[:20]:
        raise RuntimeError(head.decode())
    length = next(
        line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
    )
    await reader.readexactly(int(length.partition(b":")[2]))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], *map(float, sys.argv[2:])))
