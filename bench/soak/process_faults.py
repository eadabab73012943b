"""What happens to a whole server: signals, full disks, too few descriptors, too little memory. Each has its own server."""

import asyncio
import contextlib
import hashlib
import os
import pathlib
import socket
import tempfile
import time

from answers import Broken, Hung, Refused, get, post
from brio_server import BrioServer, free_port
from downloads import CLEAN_EXIT_CODES, full_disk_for_downloads, interrupted_pull
from faults import RawClient, answer_to, fault_with_own_server, together
from own_server import START_SECONDS, OwnServer, read_on, streams_under_way


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
    """Of the store's files; packed weights are a cache, which any start may write."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "packed" not in path.relative_to(folder).parts
    }


def wait_until_closed(process, port, seconds):
    """A killed process is gone and its port free: the kernel closes what it had open a moment after it."""
    process.wait(seconds)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except ConnectionRefusedError:
            return
        time.sleep(0.01)
    raise Hung(f"port {port} of a killed server is still open after {seconds} s")


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
            await asyncio.to_thread(wait_until_closed, server.process, port, soak.patience)
            async with OwnServer(soak, model=soak.stored_name, home=soak.home, port=port) as restarted:
                await restarted.ask_some()
                await restarted.end()
    after = await asyncio.to_thread(digests, soak.home)
    if after != before:
        raise Broken(f"the store is not what it was before kill -9: {sorted(set(before.items()) ^ set(after.items()))}")
    await interrupted_pull(soak)
    return "restarted on the same port"


# ---- full disks ----


async def full_disk_for_packed_weights(soak, folder):
    """A first start cannot keep its packed weights: it says so, answers as ever, and leaves no half file."""
    async with OwnServer(soak, "--packed-cache", folder, limits=["-f 2048"]) as server:
        await server.ask_some()
        await server.end()
        said = "".join(server.server.output)
    left = [path.name for path in folder.rglob("*")] if folder.exists() else []
    if "packed weights are not kept: " not in said or left:
        raise Broken(f"packed weights on a full disk: {left} is left over; {said[-300:]!r}")
    soak.counts.note("full disk: packed weights", "not kept, and said so")


@fault_with_own_server
async def full_disk(soak):
    """Logs that cannot be written stop nobody, and say so once they can be; packed weights and downloads that do not fit say so."""
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
        await full_disk_for_packed_weights(soak, pathlib.Path(folder) / "packed")
        await full_disk_for_downloads(soak, pathlib.Path(folder) / "home")
    return "served on"


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
