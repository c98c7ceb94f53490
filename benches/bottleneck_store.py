"""A store of one thread, as slow as its interpreter: enough of S3 to write and read objects. With a directory, reads go to
its disk past the page cache, from a few threads of their own."""

import argparse
import asyncio
import hashlib
import mmap
import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

READERS = 32
BLOCK = 4096


class Store:
    def __init__(self, directory, delay_s, rounds):
        self.directory, self.delay_s, self.rounds, self.objects = directory, delay_s, rounds, {}
        self.chance = random.Random(1)
        self.readers = ThreadPoolExecutor(READERS, thread_name_prefix="reader")

    def path(self, key):
        return self.directory / key.strip("/").replace("/", "%")

    def put(self, key, body):
        if self.directory is None:
            self.objects[key] = body
            return
        self.objects[key] = len(body)
        if not body:
            return
        with open(self.path(key), "wb") as file:
            file.write(body.ljust(-(-len(body) // BLOCK) * BLOCK, b"\0"))
            os.fsync(file.fileno())

    def read(self, key, length):
        """Past the page cache, in one request to the device."""
        opened = os.open(self.path(key), os.O_RDONLY | os.O_DIRECT)
        try:
            with mmap.mmap(-1, -(-length // BLOCK) * BLOCK) as buffer:
                os.preadv(opened, [buffer], 0)
                return buffer[:length]
        finally:
            os.close(opened)

    async def get(self, key):
        kept = self.objects[key]
        if self.directory is None:
            return kept
        return await asyncio.get_running_loop().run_in_executor(self.readers, self.read, key, kept)

    async def answer(self, method, key, body):
        if method == "PUT":
            self.put(key, body)
            return 200, b""
        if method == "DELETE":
            self.objects.pop(key, None)
            return 204, b""
        if key.count("/") < 2:
            return 200, b""
        if key not in self.objects:
            return 404, b""
        if method != "GET":
            return 200, b""
        # As long as chance will: were all delays equal, all requests would go on at once, and the thread would do nothing
        # until then, however many there are.
        await asyncio.sleep(self.chance.expovariate(1 / self.delay_s) if self.delay_s else 0)
        hashlib.pbkdf2_hmac("sha256", key.encode(), b"", self.rounds)
        return 200, await self.get(key)

    async def serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, target, _ = head[0].split(" ")
                fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
                body = await reader.readexactly(int(fields.get("content-length", 0)))
                status, content = await self.answer(method, target.partition("?")[0], body)
                writer.write(f"HTTP/1.1 {status} said\r\nETag: \"0\"\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--delay-ms", type=float, default=5, help="before each read on average, in which nothing is busy")
    parser.add_argument("--rounds", type=int, default=1, help="of hashing for each read: what the thread is busy with")
    options = parser.parse_args()
    Path("/proc/self/comm").write_text("plain-store")
    server = await asyncio.start_server(Store(options.directory, options.delay_ms / 1000, options.rounds).serve, "127.0.0.1", options.port, limit=1 << 20, backlog=512)
    print(f"serving {options.port}", flush=True)
    async with server:
        await server.serve_forever()


asyncio.run(main())
