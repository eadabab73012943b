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
import re
import sys
import time

WORDS = "red green blue river mountain castle seven quickly because 猫 犬 λόγος naïve 🙂 print(x) {} \n".split(" ")


class Broken(Exception):
    pass


async def open_request(port, method, path, body=b""):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    return int(head.split()[1]), reader, writer, "chunked" in head


async def fetch(port, method, path, body=b""):
    status, reader, writer, _ = await open_request(port, method, path, body)
    data = await reader.read()
    writer.close()
    return status, data.decode()


async def stream(port, request, leave_after=None):
    """(text, finish reason) of a stream; reason None when this client left after so many deltas."""
    body = json.dumps({**request, "stream": True}).encode()
    status, reader, writer, chunked = await open_request(port, "POST", "/v1/chat/completions", body)
    try:
        if status != 200 or not chunked:
            raise Broken(f"status {status}")
        text, reason, deltas, pending = "", None, 0, b""
        while True:
            size = int(await reader.readuntil(b"\r\n"), 16)
            pending += (await reader.readexactly(size + 2))[:-2]
            while b"\n\n" in pending:
                event, pending = pending.split(b"\n\n", 1)
                if event == b"data: [DONE]":
                    if reason is None:
                        raise Broken("[DONE] without a finish reason")
                    return text, reason
                chunk = json.loads(event[len(b"data: ") :].decode())
                if "error" in chunk:
                    raise Broken(chunk["error"]["message"])
                for choice in chunk["choices"]:
                    text += choice["delta"].get("content") or ""
                    reason = choice["finish_reason"] or reason
                    deltas += 1
                if leave_after is not None and deltas >= leave_after:
                    return text, None
            if size == 0:
                raise Broken("the stream ended without [DONE]")
    finally:
        writer.close()


async def whole(port, request):
    status, text = await fetch(port, "POST", "/v1/chat/completions", json.dumps(request).encode())
    if status != 200:
        raise Broken(f"status {status}: {text[:200]}")
    choice = json.loads(text)["choices"][0]
    return choice["message"]["content"], choice["finish_reason"]


def make_request(rng):
    prompt = " ".join(rng.choice(WORDS) for _ in range(rng.choice([1, 5, 20, 31, 32, 33, 80, 200])))
    return {
        "messages": [{"role": "user", "content": prompt}],
        "temperature": 0,
        "max_tokens": rng.randint(1, 80),
        "ignore_eos": rng.random() < 0.5,
    }


async def make_cases(port, count, rng):
    """(request, text, reason) from solo runs, half of them again with a stop string from the middle of the text."""
    cases = []
    for _ in range(count):
        request = make_request(rng)
        text, reason = await stream(port, request)
        cases.append((request, text, reason))
        if len(text) > 12:
            at = rng.randrange(len(text) // 4, len(text) - 4)
            request = {**request, "stop": [text[at : at + 3]]}
            cases.append((request, *await stream(port, request)))
            if not text.startswith(cases[-1][1]) or cases[-1][2] != "stop":
                raise Broken(f"the stop string {request['stop']} did not end {text!r} but gave {cases[-1][1:]!r}")
    return cases


async def client(port, cases, rng, deadline, report):
    while time.monotonic() < deadline:
        request, text, reason = rng.choice(cases)
        kind = rng.random()
        try:
            if kind < 0.2:
                got, _ = await stream(port, request, leave_after=rng.randint(1, 40))
                report["aborts"] += 1
                if not text.startswith(got):
                    report["problems"].append(f"aborted: {got!r} is not the beginning of {text!r}")
                continue
            got = await (stream(port, request) if kind < 0.9 else whole(port, request))
            report["answers"] += 1
            report["stops"] += reason == "stop"
            if got != (text, reason):
                report["problems"].append(f"{request}: {got!r} instead of {(text, reason)!r}")
        except (Broken, OSError, asyncio.IncompleteReadError, ValueError) as problem:
            report["problems"].append(f"{request}: {type(problem).__name__} {problem}")


async def metric(port, name):
    _, text = await fetch(port, "GET", "/metrics")
    values = re.findall(rf"^{re.escape(name)}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE)
    if not values:
        raise Broken(f"/metrics has no {name}")
    return sum(map(float, values))


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * 4096


async def watch_memory(pid, deadline, samples):
    while pid and time.monotonic() < deadline:
        samples.append(resident_bytes(pid))
        await asyncio.sleep(1)


async def check_idle(port, report):
    """Nothing runs, waits or holds memory once the clients have left; admissions equal endings."""
    for name in ("brio:num_requests_running", "brio:num_requests_waiting", "brio:kv_blocks_used"):
        for _ in range(200):
            value = await metric(port, name)
            if value == 0:
                break
            await asyncio.sleep(0.05)
        else:
            report["problems"].append(f"{name} stays at {value} with no client left")


def check_memory(samples, report):
    """Flat: the last quarter's highest is not above the second quarter's by more than 3 % or 8 MB.

    Short runs say nothing: pages of the KV pool become resident when the load first reaches them.
    """
    quarter = len(samples) // 4
    if quarter < 30:
        return
    before, after = max(samples[quarter : 2 * quarter]), max(samples[-quarter:])
    report["resident_mb"] = [round(before / 1e6, 1), round(after / 1e6, 1)]
    if after > before + max(0.03 * before, 8e6):
        report["problems"].append(f"memory grew from {before / 1e6:.1f} to {after / 1e6:.1f} MB")


async def run_async(port, pid, clients, seconds, cases, seed):
    rng = random.Random(seed)
    report = {"answers": 0, "aborts": 0, "stops": 0, "problems": []}
    known = await make_cases(port, cases, rng)
    deadline = time.monotonic() + seconds
    samples = []
    tasks = [client(port, known, random.Random(rng.random()), deadline, report) for _ in range(clients)]
    await asyncio.gather(watch_memory(pid, deadline, samples), *tasks)
    await check_idle(port, report)
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
