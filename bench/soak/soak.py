#!/usr/bin/env python3
"""brio serve under random load while everything goes wrong that can: see README.md beside this file.

    bench/soak/soak.py build/brio MODEL.gguf --minutes 45 --json soak.json
    bench/soak/soak.py build/brio MODEL.gguf --minutes 3 --faults kill_9_and_restart,leave_mid_stream
"""

import argparse
import asyncio
import json
import os
import pathlib
import random
import resource
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent), str(HERE.parents[1] / "tests" / "e2e")]

import flatness  # noqa: E402
import network_faults  # noqa: E402
import process_faults  # noqa: E402
from answers import Broken, Refused, ask, make_cases, metric, wait_idle  # noqa: E402
from brio_server import BrioServer  # noqa: E402
from downloads import prepare_store  # noqa: E402
from faults import FAULTS, Counts, ask_and_judge, together  # noqa: E402
from report import make_report, print_report  # noqa: E402
from streams import resident_bytes, watch_memory  # noqa: E402

CONTEXT = 1024
OWN_SERVER_SECONDS = 30  # between the starts of two faults with servers of their own, where the run is long enough
PROGRESS_SECONDS = 10


def chat(text, **more):
    return {"messages": [{"role": "user", "content": text}], "temperature": 0, "ignore_eos": True, **more}


class Soak:
    """One run: what the load and the faults share."""

    def __init__(self, binary, model, seed=1, seconds=0, patience=60, kv_memory="96M"):
        self.binary, self.model, self.patience = binary, model, patience
        self.rng, self.seconds = random.Random(seed), seconds
        self.serve_flags = ["--ctx", CONTEXT, "--max-sequences", 16, "--kv-memory", kv_memory]
        self.counts = Counts()
        self.ending = False  # idle connections may close now
        self.num_idle = self.num_faults = self.num_answers = 0
        self.first_tokens, self.latencies = [], []  # (time in the run, seconds)
        self.memory, self.cpu = [], []  # bytes; (time in the run, seconds of processor that the server has used)
        self.machine = []  # (time in the run, milliseconds) of the spin probe
        self.start = 0.0

    def now(self):
        return time.monotonic() - self.start

    async def prepare(self, port, num_cases=24, num_seeded=6):
        """What every request gets when it runs alone."""
        self.port = port
        self.cases = await make_cases(port, num_cases, self.rng)
        for seed in range(num_seeded):
            request = {**self.cases[seed][0], "temperature": 0.8, "seed": seed}
            self.cases.append((request, await ask(port, request)))
        self.long_prompt = chat("river " * 700, max_tokens=50)
        request = chat("Count to a thousand.", max_tokens=150)
        self.long_case = request, await ask(port, request)
        request = chat("Name all colours.", max_tokens=80, n=2, top_logprobs=20)
        self.wide_case = request, await ask(port, request)

    async def warm_up(self, count=8):
        """Touches every page of the KV cache: memory is flat from here on."""
        await together(*(ask(self.port, self.long_prompt, patience=self.patience) for _ in range(count)))


# ---- load ----


async def client(soak, rng, until):
    while soak.now() < until:
        request, alone = rng.choice(soak.cases)
        streamed = rng.random() < 0.85
        kind, at = "streamed answers" if streamed else "whole answers", soak.now()
        try:
            got = await ask_and_judge(soak, soak.port, request, alone, streamed)
        except Refused as refused:
            soak.counts.problem(kind, refused)
        except (Broken, OSError, ValueError) as failure:
            soak.counts.problem(kind, failure)
        else:
            soak.counts.note(kind, "equal to running alone")
            soak.num_answers += 1
            soak.latencies.append((at, got.ended_at - got.requested_at))
            if got.first_token_at and streamed:
                soak.first_tokens.append((at, got.first_token_at - got.requested_at))


# ---- faults ----


async def inject(soak, name):
    soak.num_faults += 1
    kind = name.replace("_", " ")
    try:
        soak.counts.note(kind, await FAULTS[name].run(soak))
    except Exception as failure:  # of the fault's own code too: an hour's report is worth more than its stack
        soak.counts.problem(kind, failure)


async def inject_again_and_again(soak, name):
    """At even times, one after the other: what a slow machine cannot keep up with does not pile up."""
    every = min(FAULTS[name].every, soak.seconds / 4)
    at = every * random.Random(name).random()
    while at < soak.seconds:
        await asyncio.sleep(max(0, at - soak.now()))
        await inject(soak, name)
        at = max(at + every, soak.now())


async def inject_one_by_one(soak, names):
    """As many whole rounds as fit into each quarter, at least one into the run. Late ones are left out at its end."""
    rounds = int(soak.seconds / 4 / (OWN_SERVER_SECONDS * len(names)) if names else 0) * 4 or 1
    order = names * rounds
    for number, name in enumerate(order):
        await asyncio.sleep(max(0, number * soak.seconds / len(order) - soak.now()))
        if number < len(names) or soak.now() < soak.seconds:
            await inject(soak, name)


# ---- watching ----


async def show_progress(soak, server):
    while True:
        await asyncio.sleep(PROGRESS_SECONDS)
        recent = sorted(value for at, value in soak.first_tokens[-200:])
        line = f"{soak.now():6.0f} s of {soak.seconds:.0f}  {soak.num_answers} answers, {soak.num_faults} faults, {soak.num_idle} idle"
        if recent:
            line += f", first token {flatness.quantile(recent, 0.5):.3f} s"
        line += f", {resident_bytes(server.process.pid) / 1e6:.0f} MB, {len(soak.counts.problems)} problems"
        print(line, flush=True)


async def watch_cpu(soak, pid):
    while True:
        soak.cpu.append((soak.now(), process_faults.cpu_seconds(pid)))
        await asyncio.sleep(1)


async def watch_machine(soak):
    probe = await asyncio.create_subprocess_exec(sys.executable, HERE / "spin.py", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    try:
        while line := await probe.stdout.readline():
            soak.machine.append(tuple(map(float, line.split())))
    finally:
        probe.stdin.close()
        await probe.wait()


def num_descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Leaks:
    """What the server holds with no client, before and after."""

    def __init__(self, soak, server):
        self.soak, self.server = soak, server

    async def measure(self):
        await wait_idle(self.soak.port, self.soak.patience)
        deadline = time.monotonic() + self.soak.patience
        while (connections := await metric(self.soak.port, "brio:http_connections")) > 1:  # the one that asks
            if time.monotonic() > deadline:
                raise Broken(f"{connections:g} connections are open and no client has one")
            await asyncio.sleep(0.2)
        await asyncio.sleep(0.2)
        pid = self.server.process.pid
        return {"descriptors": num_descriptors(pid), "resident_bytes": resident_bytes(pid)}

    async def begin(self):
        self.before = await self.measure()

    async def end(self):
        self.after = await self.measure()
        leaked = self.after["descriptors"] - self.before["descriptors"]
        if leaked:
            raise Broken(f"{leaked} descriptors are left over")


# ---- the run ----


async def run_load(soak, server, flags, names):
    shared = [name for name in names if not FAULTS[name].own_server]
    own = [name for name in names if FAULTS[name].own_server]
    pid = server.process.pid
    soak.start = time.monotonic()
    watching = [asyncio.ensure_future(watch) for watch in (show_progress(soak, server), watch_machine(soak), watch_cpu(soak, pid))]
    idle = asyncio.ensure_future(network_faults.hold_idle_connections(soak, flags.idle))
    try:
        await together(
            watch_memory(pid, soak.start + soak.seconds, soak.memory),
            *(inject_again_and_again(soak, name) for name in shared),
            inject_one_by_one(soak, own),
            *(client(soak, random.Random(flags.seed * 1000 + number), soak.seconds) for number in range(flags.clients)),
        )
    finally:
        soak.ending = True
        for task in [idle, *watching]:
            task.cancel()
        await asyncio.gather(idle, *watching, return_exceptions=True)


async def run(flags, names):
    soak = Soak(flags.binary, flags.model, flags.seed, flags.minutes * 60, flags.hang_seconds, flags.kv_memory)
    load_average = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as folder:
        soak.home, soak.stored_name = prepare_store(soak.model, folder)
        server = await asyncio.to_thread(BrioServer, soak.model, *soak.serve_flags, binary=soak.binary)
        try:
            await asyncio.to_thread(server.wait_ready)
            await soak.prepare(server.port)
            await soak.warm_up()
            leaks = Leaks(soak, server)
            await leaks.begin()
            await run_load(soak, server, flags, names)
            load_average.append(os.getloadavg()[0])
            try:
                await leaks.end()
                server.terminate()
                if (code := await asyncio.to_thread(server.wait, soak.patience)) != 0:
                    raise Broken(f"the shared server ended with exit code {code}")
            except Broken as failure:
                soak.counts.problem("the shared server", failure)
        finally:
            if (code := server.process.poll()) not in (None, 0):
                soak.counts.problem("the shared server", Broken(f"exit code {code}: {''.join(server.output[-20:])}"))
            server.kill()
    return {**make_report(soak, flags, leaks), "load_average": load_average}


# ---- flags ----


def parse_flags():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="faults: " + ", ".join(FAULTS))
    parser.add_argument("binary", type=pathlib.Path, help="brio")
    parser.add_argument("model", type=pathlib.Path, help="a .gguf file with a chat template")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--clients", type=int, default=8, help="that ask one request after the other")
    parser.add_argument("--idle", type=int, default=500, help="connections that do not")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", help="only these, by comma; none: load alone")
    parser.add_argument("--without", help="not these")
    parser.add_argument("--kv-memory", default="96M", help="of each server; little enough for preemptions")
    parser.add_argument("--hang-seconds", type=float, default=60, help="a client without progress for so long has hung")
    parser.add_argument("--json", type=pathlib.Path, help="the report as JSON")
    return parser.parse_args(), parser


def chosen_faults(flags, parser):
    wanted = list(FAULTS) if flags.faults is None else [] if flags.faults == "none" else flags.faults.split(",")
    refused = flags.without.split(",") if flags.without else []
    unknown = [name for name in wanted + refused if name not in FAULTS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(FAULTS)}")
    return [name for name in wanted if name not in refused]


def allow_descriptors(count):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count <= hard or hard == resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), hard))


def main():
    flags, parser = parse_flags()
    names = chosen_faults(flags, parser)
    allow_descriptors(flags.idle + 1000)
    result = asyncio.run(run(flags, names))
    print_report(result)
    if flags.json:
        flags.json.write_text(json.dumps(result, indent=1, ensure_ascii=False))
    return 1 if result["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
