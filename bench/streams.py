#!/usr/bin/env python3
"""Concurrent streaming clients against a running `brio serve`: random prompts and lengths, stop strings, aborts.

Every answer at temperature 0 has to equal the one the same request got when it ran alone; aborted streams have to be a
prefix of it. At the end nothing may run, wait or hold a KV block, and memory has to be flat. Standard library only.

    brio serve MODEL --port 8080 &
    bench/streams.py --port 8080 --pid $! --minutes 5
"""

import argparse
import asyncio
import json
import random
import sys
import time

from answers import Broken, ask, exchange, make_cases, post, streamed, wait_idle


async def client(port, cases, rng, deadline, report):
    while time.monotonic() < deadline:
        request, alone = rng.choice(cases)
        kind = rng.random()
        try:
            if kind < 0.2:
                got = await exchange(port, post(streamed(request)), leave_after=rng.randint(1, 40))
                report["aborts"] += 1
                if not got.begins(alone):
                    report["problems"].append(f"aborted: {got.text!r} is not the beginning of {alone.text!r}")
                continue
            got = await ask(port, request, stream=kind < 0.9)
            report["answers"] += 1
            report["stops"] += got.reason == "stop"
            if got.same() != alone.same() or got.lost_tokens:
                report["problems"].append(f"{request}: {got.same()!r} instead of {alone.same()!r}, {got.lost_tokens} tokens lost")
        except (Broken, OSError, ValueError) as problem:
            report["problems"].append(f"{request}: {type(problem).__name__} {problem}")


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * 4096


async def watch_memory(pid, deadline, samples):
    while pid and time.monotonic() < deadline:
        samples.append(resident_bytes(pid))
        await asyncio.sleep(1)


def check_memory(samples, report, before=1, least=30):
    """Flat: the last quarter's highest is not above that of quarter `before` by more than 3 % or 8 MB.

    Quarters with fewer than `least` samples say nothing: pages of the KV pool become resident when the load first reaches them.
    """
    quarter = len(samples) // 4
    if quarter < least:
        return
    first, last = max(samples[before * quarter :][:quarter]), max(samples[-quarter:])
    report["resident_mb"] = [round(first / 1e6, 1), round(last / 1e6, 1)]
    if last > first + max(0.03 * first, 8e6):
        report["problems"].append(f"memory grew from {first / 1e6:.1f} to {last / 1e6:.1f} MB")


async def run_async(port, pid, clients, seconds, cases, seed):
    rng = random.Random(seed)
    report = {"answers": 0, "aborts": 0, "stops": 0, "problems": []}
    known = await make_cases(port, cases, rng)
    deadline = time.monotonic() + seconds
    samples = []
    tasks = [client(port, known, random.Random(rng.random()), deadline, report) for _ in range(clients)]
    await asyncio.gather(watch_memory(pid, deadline, samples), *tasks)
    try:
        await wait_idle(port)
    except Broken as problem:
        report["problems"].append(str(problem))
    check_memory(samples, report)
    report["problems"] = report["problems"][:20]
    return report


def run(port, pid=None, clients=32, seconds=20, cases=10, seed=1):
    return asyncio.run(run_async(port, pid, clients, seconds, cases, seed))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--pid", type=int, help="of the server: its memory is watched")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--cases", type=int, default=24, help="different requests")
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    report = run(flags.port, flags.pid, flags.clients, flags.minutes * 60, flags.cases, flags.seed)
    print(json.dumps(report, indent=1, ensure_ascii=False))
    return 1 if report["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
