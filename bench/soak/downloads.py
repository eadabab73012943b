"""brio pull while it is killed or the disk is full: a model appears whole or not at all."""

import asyncio
import contextlib
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from answers import Broken, Hung
from brio_server import limited

CLEAN_EXIT_CODES = (3, 5)  # base/result.h: the system refused, a limit


def prepare_store(model, folder):
    """A store with a copy of the model; (home, name)."""
    home, name = pathlib.Path(folder), "soaked"
    (home / "models").mkdir()
    shutil.copy(model, home / "models" / f"{name}.gguf")
    return home, name


class FileServer:
    """Serves one file over HTTP, a piece at a time, with ranges."""

    def __init__(self, content, bytes_per_second=None):
        self.content, self.bytes_per_second, self.first_bytes = content, bytes_per_second, []

    async def __aenter__(self):
        self.server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        port = self.server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/pulled.gguf#sha256={hashlib.sha256(self.content).hexdigest()}"
        return self

    async def __aexit__(self, *_):
        self.server.close()

    async def _answer(self, reader, writer):
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            first = int(head.split("range: bytes=")[1].split("-")[0]) if "range: bytes=" in head else 0
            self.first_bytes.append(first)
            size = len(self.content)
            status = f"206 Partial Content\r\nContent-Range: bytes {first}-{size - 1}/{size}" if first else "200 OK"
            writer.write(f"HTTP/1.1 {status}\r\nETag: \"1\"\r\nContent-Length: {size - first}\r\nConnection: close\r\n\r\n".encode())
            piece = 1 << 16
            for at in range(first, size, piece):
                writer.write(self.content[at : at + piece])
                await writer.drain()
                if self.bytes_per_second:
                    await asyncio.sleep(piece / self.bytes_per_second)
        writer.close()


async def pull(soak, home, url, limits=(), wrap=()):
    """A running `brio pull`."""
    command = [*wrap, *limited([soak.binary, "pull", url], *limits)]
    environment = {**os.environ, "BRIO_HOME": str(home)}
    return await asyncio.create_subprocess_exec(*command, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)


async def finished(soak, process):
    try:
        output, _ = await asyncio.wait_for(process.communicate(), soak.patience)
    except asyncio.TimeoutError:
        process.kill()
        raise Hung("brio pull") from None
    return process.returncode, output.decode()


def some_model(rng):
    return b"GGUF" + rng.randbytes(4 << 20)


async def expect_whole(soak, home, url, content):
    code, said = await finished(soak, await pull(soak, home, url))
    stored = home / "models" / "pulled.gguf"
    if code != 0 or stored.read_bytes() != content:
        raise Broken(f"brio pull after an interrupted one: exit code {code}: {said}")


async def interrupted_pull(soak):
    content = some_model(soak.rng)
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        async with FileServer(content, bytes_per_second=2 << 20) as files:
            process = await pull(soak, home, files.url)
            partial, deadline = home / "models" / "pulled.partial", time.monotonic() + soak.patience
            while not (partial.exists() and partial.stat().st_size > 1 << 20):
                if time.monotonic() > deadline:
                    raise Hung("brio pull has not begun")
                await asyncio.sleep(0.05)
            process.kill()
            await process.wait()
            if (home / "models" / "pulled.gguf").exists():
                raise Broken("a killed download has the name of a whole one")
            files.bytes_per_second = None
            await expect_whole(soak, home, files.url, content)
            if files.first_bytes[-1] == 0:
                raise Broken("a killed download did not go on where it was")
    soak.counts.note("kill -9: downloads", "went on where they were")


PRIVATE_DISK = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=1m none "$0" && exec "$@"']


def may_mount():
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([*PRIVATE_DISK, folder, "true"], capture_output=True).returncode == 0


async def full_disk_for_downloads(soak, home):
    (home / "models").mkdir(parents=True)
    content = some_model(soak.rng)
    async with FileServer(content) as files:
        ways = [("cannot write: File too large", {"limits": ["-f 2048"]})]
        if may_mount():
            ways.append(("bytes are needed, the disk has", {"wrap": [*PRIVATE_DISK, home / "models"]}))
        for message, options in ways:
            code, said = await finished(soak, await pull(soak, home, files.url, **options))
            if code not in CLEAN_EXIT_CODES or message not in said or (home / "models" / "pulled.gguf").exists():
                raise Broken(f"brio pull onto a full disk: exit code {code}: {said}")
        await expect_whole(soak, home, files.url, content)
