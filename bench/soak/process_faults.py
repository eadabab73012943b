"""What happens to a whole server: signals, full disks, too few descriptors, too little memory. Each has its own server."""

import asyncio
import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from answers import Broken, Hung, Refused, get, post
from brio_server import BrioServer, free_port, limited
from faults import RawClient, answer_to, ask_and_judge, fault_with_own_server, stream_of, together

START_SECONDS = 300
CLEAN_EXIT_CODES = (3, 5)  # base/result.h: a file that cannot be mapped, a limit


class OwnServer:
    """A `brio serve` for one fault, ready when entered and gone afterwards."""

    def __init__(self, soak, *flags, model=None, **options):
        self.start = lambda: BrioServer(model or soak.model, *soak.serve_flags, *flags, binary=soak.binary, **options)
        self.soak, self.server = soak, None

    async def __aenter__(self):
        try:
            self.server = await asyncio.to_thread(self.start)
            self.port, self.process = self.server.port, self.server.process
            await asyncio.to_thread(self.server.wait_ready, START_SECONDS)
        except RuntimeError as failure:
            await self.__aexit__()
            raise Broken(f"no server: {failure}") from None
        return self

    async def __aexit__(self, *_):
        if self.server:
            await asyncio.to_thread(self.server.kill)

    async def ask_and_judge(self, request, alone, stream=True):
        return await ask_and_judge(self.soak, self.port, request, alone, stream)

    async def ask_some(self, count=3):
        """Some cases at once, each judged."""
        cases = self.soak.rng.sample(self.soak.cases, count)
        await together(*(self.ask_and_judge(*case) for case in cases))

    async def end(self):
        """SIGTERM; Broken unless it ends by itself in time and well."""
        self.server.terminate()
        await self.expect_exit()

    async def expect_exit(self):
        try:
            code = await asyncio.to_thread(self.server.wait, self.soak.patience)
        except subprocess.TimeoutExpired:
            raise Hung(f"the server runs {self.soak.patience} s after SIGTERM") from None
        if code != 0:
            raise Broken(f"the server ended with exit code {code}:\n" + "".join(self.server.output[-20:]))


@contextlib.asynccontextmanager
async def streams_under_way(soak, port, count=4):
    """[(client, answer)] of long streams that have all begun; client.read_answer(answer=answer) reads on."""
    async with contextlib.AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(RawClient(port, soak.patience)) for _ in range(count)]
        for client in clients:
            await client.send(stream_of(soak.long_case[0]))
        begun = (client.read_answer(until=lambda answer: answer.num_deltas >= 5) for client in clients)
        yield list(zip(clients, await together(*begun)))


async def read_on(streams):
    return await together(*(client.read_answer(answer=answer) for client, answer in streams))


# ---- signals ----


@fault_with_own_server
async def sigterm_mid_stream(soak):
    """Streams under way end whole; with --drain-timeout 0 they end with an error that says why. No new ones."""
    request, alone = soak.long_case
    hurry = soak.rng.random() < 0.5
    async with OwnServer(soak, *(["--drain-timeout", 0] if hurry else [])) as server:
        async with streams_under_way(soak, server.port) as streams:
            server.server.terminate()
            late = asyncio.ensure_future(last_minute_request(soak, server.port))
            for answer in await read_on(streams):
                try:
                    soak.counts.judge(request, answer.check(), alone)
                    soak.counts.note("sigterm: streams under way", "whole")
                except Refused as refused:
                    if not hurry or "shutting down" not in refused.message:
                        raise
                    soak.counts.judge_beginning(request, answer, alone)
                    soak.counts.note("sigterm: streams under way", "ended with an error")
            soak.counts.note("sigterm: last-minute requests", await late)
        await server.expect_exit()
    return "ended with exit code 0"


async def last_minute_request(soak, port):
    """Taken before the signal is seen, or refused; never half an answer."""
    request = soak.cases[0][0]
    try:
        answer = await answer_to(soak, post(request), port)
    except ConnectionRefusedError:
        return "connection refused"
    if answer.status is None:
        return "connection closed"
    if not answer.complete or answer.status not in (200, 503):
        raise Broken(f"a request after SIGTERM was answered with {answer.status}, {answer.body[:100]!r}")
    return str(answer.status)


def digests(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@fault_with_own_server
async def kill_9_and_restart(soak):
    """Clients see the end at once, the port is free at once, the store is what it was."""
    request, alone = soak.long_case
    before, port = await asyncio.to_thread(digests, soak.home), free_port()
    async with OwnServer(soak, model=soak.stored_name, home=soak.home, port=port) as server:
        async with streams_under_way(soak, port) as streams:
            server.process.kill()
            for answer in await read_on(streams):
                if answer.complete:
                    raise Broken("a killed server ended its stream")
                soak.counts.judge_beginning(request, answer, alone)
                soak.counts.note("kill -9: streams under way", "broke off")
            async with OwnServer(soak, model=soak.stored_name, home=soak.home, port=port) as restarted:
                await restarted.ask_some()
                await restarted.end()
    if await asyncio.to_thread(digests, soak.home) != before:
        raise Broken("the store is not what it was before kill -9")
    await interrupted_pull(soak)
    return "restarted on the same port"


# ---- downloads: the one cache on disk ----


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


# ---- full disks ----

PRIVATE_DISK = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=1m none "$0" && exec "$@"']


def may_mount():
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([*PRIVATE_DISK, folder, "true"], capture_output=True).returncode == 0


@fault_with_own_server
async def full_disk(soak):
    """Logs that cannot be written stop nobody, and say so once they can be; a download that does not fit says so."""
    with tempfile.TemporaryDirectory() as folder:
        with open("/dev/full", "w") as log:
            async with OwnServer(soak, "--log-steps", port=free_port(), log=log) as server:
                await server.ask_some()
                await server.end()
        path = pathlib.Path(folder) / "log"
        with open(path, "a") as log:
            async with OwnServer(soak, "--log-steps", port=free_port(), log=log, limits=["-f 8"]) as server:
                await server.ask_and_judge(*soak.long_case)
                if path.stat().st_size != 8 * 512:
                    raise Broken(f"the log has {path.stat().st_size} bytes and should be full")
                os.truncate(path, 0)
                await server.ask_some(1)
                await server.end()
        if "could not be written: File too large" not in path.read_text():
            raise Broken(f"the log does not say that some of it is lost: {path.read_text()[:300]!r}")
        await full_disk_for_downloads(soak, pathlib.Path(folder) / "home")
    return "served on"


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


# ---- too few descriptors ----


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@fault_with_own_server
async def few_descriptors(soak):
    """Who gets none is refused in words, who has one is served on, no core spins, and afterwards all is as before."""
    async with OwnServer(soak, limits=["-n 64"]) as server:
        async with streams_under_way(soak, server.port, count=2) as streams, contextlib.AsyncExitStack() as stack:
            statuses = []
            for _ in range(150):
                client = await stack.enter_async_context(RawClient(server.port, soak.patience))
                await client.send(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
                statuses.append((await client.read_answer()).status)
            if set(statuses) != {200, 503}:
                raise Broken(f"150 connections to a server with 64 descriptors were answered {set(statuses)}")
            for answer in await read_on(streams):
                soak.counts.judge(soak.long_case[0], answer.check(), soak.long_case[1])
            # Now nothing is left to do but to refuse.
            before, seconds = cpu_seconds(server.process.pid), 2
            await asyncio.sleep(seconds)
            spent = cpu_seconds(server.process.pid) - before
            if spent > 0.25 * seconds:
                raise Broken(f"a server without descriptors and without work spends {spent:.1f} s of {seconds} s")
            soak.counts.note("few descriptors: connections", "answered", statuses.count(200))
            soak.counts.note("few descriptors: connections", "refused with 503", statuses.count(503))
        await expect_room(soak, server.port)
        await server.ask_some()
        await server.end()
    return "refused and recovered"


async def expect_room(soak, port):
    deadline = time.monotonic() + soak.patience
    while (await get(port, "/health", soak.patience))[0] != 200:
        if time.monotonic() > deadline:
            raise Broken("503 although all connections were closed")
        await asyncio.sleep(0.05)


# ---- too little memory ----


async def start_or_say_why(soak, limit_kb):
    """"starts", or "said why" if it ended with a message and an exit code of its own."""
    log = tempfile.TemporaryFile("w+")
    port = free_port()
    process = BrioServer(soak.model, *soak.serve_flags, binary=soak.binary, port=port, log=log, limits=[f"-v {limit_kb}"]).process
    try:
        deadline = time.monotonic() + START_SECONDS
        while process.poll() is None:
            if time.monotonic() > deadline:
                raise Hung(f"a server with {limit_kb} kB neither starts nor ends")
            with contextlib.suppress(OSError):
                if (await get(port, "/health", soak.patience))[0] == 200:
                    return "starts"
            await asyncio.sleep(0.1)
        log.seek(0)
        said = log.read()
        loader = process.returncode == 127 and "shared librar" in said  # ld.so had no room for brio itself
        if not loader and (process.returncode not in CLEAN_EXIT_CODES or "error: " not in said):
            raise Broken(f"a server with {limit_kb} kB ended with exit code {process.returncode}: {said[-300:]}")
        return "said why"
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def peak_kb(pid):
    """The most address space it has had."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmPeak:")[1].split()[0])


async def flood(soak, server, count):
    """Large bodies all at once, one in four with a long prompt, beside streams that have to stay whole."""
    request, alone = soak.long_case
    large = "word " * 3_000_000

    async def send(number):
        prompt, padding = (large, "") if number % 4 == 0 else ("Hi", large)
        body = {"messages": [{"role": "user", "content": prompt}], "max_tokens": 1, "padding": padding}
        with contextlib.suppress(ConnectionError):
            answer = await answer_to(soak, post(body), server.port)
            if answer.status not in (200, 400, 429, 503):
                raise Broken(f"a body of 15 MB was answered with {answer.status}")
            soak.counts.note("little memory: large bodies", str(answer.status))

    async with streams_under_way(soak, server.port) as streams:
        await together(*(send(number) for number in range(count)))
        for answer in await read_on(streams):
            soak.counts.judge(request, answer.check(), alone)
            soak.counts.note("little memory: streams beside them", "whole")
    if server.process.poll() is not None:
        raise Broken(f"the server ended with {server.process.returncode}: {''.join(server.server.output[-5:])}")
    await server.ask_some()
    await server.end()


def make_memory_cgroup(num_bytes):
    """The folder of a new group, or None where there is no right to make one."""
    for root, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = pathlib.Path(root) / f"brio-soak-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / limit).write_text(str(num_bytes))
            return group
        except OSError:
            group.rmdir()
    return None


@contextlib.contextmanager
def memory_cgroup(num_bytes):
    """A command prefix that puts what it runs under a memory limit, or None."""
    group = make_memory_cgroup(num_bytes)
    try:
        yield ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', group] if group else None
    finally:
        if group:
            group.rmdir()


@fault_with_own_server
async def little_memory(soak):
    """Too little to start is an error with an exit code; too little for what clients send costs those clients alone."""
    async with OwnServer(soak) as server:
        enough = peak_kb(server.process.pid)
        await server.end()
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        soak.counts.note("little memory: starts", await start_or_say_why(soak, int(enough * share)))
    async with OwnServer(soak, limits=[f"-v {enough + (48 << 10)}"]) as server:
        await flood(soak, server, count=8)  # more than there is room for
    with memory_cgroup(1 << 30) as group:
        if group is None:
            soak.counts.note("little memory: cgroup", "cannot be made here")
        else:
            async with OwnServer(soak, wrap=group) as server:
                await flood(soak, server, count=4)
            soak.counts.note("little memory: cgroup", "kept")
    return "went on"


def prepare_store(model, folder):
    """A store with a copy of the model; (home, name)."""
    home, name = pathlib.Path(folder), "soaked"
    (home / "models").mkdir()
    shutil.copy(model, home / "models" / f"{name}.gguf")
    return home, name
