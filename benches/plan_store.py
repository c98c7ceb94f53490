"""A store whose demands are known: each read waits for one of so many disks, which serve first come, first served, for times drawn
by a seed. How long each disk was busy it tells as an exporter does (/metrics, names of node_exporter)."""

import argparse
import asyncio
import random
import time

BODY = b"x" * 4096


class Disk:
    """One at a time; counts the time in which somebody is served, and those who are there."""

    def __init__(self):
        self.turn = asyncio.Lock()
        self.busy_s = self.weighted_s = 0.0
        self.reads = self.there = 0
        self.since = time.monotonic()

    def count(self):
        """Up to now."""
        now = time.monotonic()
        self.busy_s += (now - self.since) * (self.there > 0)
        self.weighted_s += (now - self.since) * self.there
        self.since = now

    async def serve(self, seconds_of):
        self.count()
        self.there += 1
        try:
            async with self.turn:
                await asyncio.sleep(seconds_of(self.there))
                self.reads += 1
        finally:
            self.count()
            self.there -= 1


class Store:
    def __init__(self, options):
        self.options = options
        self.disks = [Disk() for _ in range(options.disks)]
        self.random = random.Random(7)
        self.slots = asyncio.Semaphore(options.slots)

    def seconds(self, there):
        """Longer, where more are there, with --crowd."""
        # Four exponential steps: half as uneven as one, so that short runs say enough.
        return self.random.gammavariate(4, self.options.service_ms / 4000) * (1 + self.options.crowd * (there - 1))

    async def read(self):
        async with self.slots:
            await asyncio.sleep(self.random.expovariate(1000 / self.options.delay_ms))
            await self.random.choice(self.disks).serve(self.seconds)
        return BODY

    def metrics(self):
        lines = []
        for number, disk in enumerate(self.disks):
            disk.count()
            for name, value in {
                "io_time_seconds_total": disk.busy_s,
                "io_time_weighted_seconds_total": disk.weighted_s,
                "reads_completed_total": disk.reads,
                "read_bytes_total": disk.reads * len(BODY),
            }.items():
                lines.append(f'node_disk_{name}{{device="disk{number}"}} {value}')
        return "\n".join(lines).encode() + b"\n"

    async def answer(self, method, target):
        if target == "/metrics":
            return 200, self.metrics()
        if method == "GET" and target.count("/") > 1:
            return 200, await self.read()
        return (204 if method == "DELETE" else 200), b""

    async def talk(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, target, _ = head[0].split(" ")
                fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
                await reader.readexactly(int(fields.get("content-length", 0)))
                status, body = await self.answer(method, target.partition("?")[0])
                length = "" if status == 204 else f"Content-Length: {len(body)}\r\n"
                writer.write(f'HTTP/1.1 {status} said\r\nETag: "0"\r\nContent-Type: text/plain\r\n{length}\r\n'.encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--disks", type=int, default=1)
    parser.add_argument("--service-ms", type=float, default=4, help="mean time of one read on a disk")
    parser.add_argument("--delay-ms", type=float, default=6, help="mean time before it, in which nothing is busy")
    parser.add_argument("--slots", type=int, default=1_000_000, help="reads that are let in at once: a limit that no disk shows")
    parser.add_argument("--crowd", type=float, default=0, help="how much longer a read takes for each other one that is there")
    options = parser.parse_args()
    server = await asyncio.start_server(Store(options).talk, "127.0.0.1", options.port, backlog=512)
    print(f"serving {options.port}", flush=True)
    async with server:
        await server.serve_forever()


asyncio.run(main())
