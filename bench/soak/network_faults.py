"""What clients and networks do to the shared server, while it serves everybody else."""

import asyncio
import json
import time

from answers import CHAT, COMPLETIONS, Broken, metric, post
from faults import RawClient, answer_to, fault, stream_of, together

# The limits of net/http_server.h.
HEADER_TIMEOUT, BODY_TIMEOUT, IDLE_TIMEOUT, WRITE_TIMEOUT = 15, 60, 75, 30
TOO_LARGE_BODY = (16 << 20) + 1
TOO_LARGE_HEADER = (32 << 10) + 1
SLACK = 30  # seconds that a busy machine may add to a timeout


def leave(soak, client):
    """Half of those who leave say goodbye."""
    if soak.rng.random() < 0.5:
        client.reset()
    else:
        client.socket.close()


# ---- clients that leave ----


@fault(every=5)
async def leave_before_the_head_is_sent(soak):
    request, _ = soak.rng.choice(soak.cases)
    data = stream_of(request)
    async with RawClient(soak.port, soak.patience) as client:
        await client.send(data[: soak.rng.randrange(1, data.index(b"\r\n\r\n"))])
        await asyncio.sleep(soak.rng.random() * 0.2)
        leave(soak, client)
    return "left"


@fault(every=5)
async def leave_during_prefill(soak):
    request = {**soak.long_prompt, "n": soak.rng.choice([1, 3])}
    data = stream_of(request) if soak.rng.random() < 0.5 else post(request)
    async with RawClient(soak.port, soak.patience) as client:
        await client.send(data)
        await asyncio.sleep(soak.rng.random() * 0.2)
        leave(soak, client)
    return "left"


@fault(every=2)
async def leave_mid_stream(soak):
    request, alone = soak.rng.choice(soak.cases)
    deltas = soak.rng.randint(1, 40)
    async with RawClient(soak.port, soak.patience) as client:
        await client.send(stream_of(request))
        answer = await client.read_answer(until=lambda answer: answer.num_deltas >= deltas)
        leave(soak, client)
    soak.counts.judge_beginning(request, answer, alone)
    return "whole before it left" if answer.complete else "left"


@fault(every=5)
async def half_close(soak):
    """Who closes its side while the answer is made has gone: the server may drop it, and must not leave it waiting."""
    request, alone = soak.rng.choice(soak.cases)
    async with RawClient(soak.port, soak.patience) as client:
        await client.send(stream_of(request))
        client.half_close()
        answer = await client.read_answer()
    soak.counts.judge_beginning(request, answer, alone)
    return "whole" if answer.complete else "dropped"


# ---- clients that read slowly ----


@fault(every=15)
async def read_byte_by_byte(soak):
    request, alone = min(soak.rng.sample(soak.cases, 5), key=lambda case: case[1].completion_tokens)
    async with RawClient(soak.port, soak.patience, receive_buffer=4096) as client:
        await client.send(stream_of(request))
        answer = (await client.read_answer(most=1)).check()
    soak.counts.judge(request, answer, alone)
    return "whole"


@fault(every=20)
async def stop_reading_for_seconds(soak):
    """More than the socket buffers hold comes meanwhile: the rest waits in the server."""
    request, alone = soak.wide_case
    at, seconds = soak.rng.randrange(1, 20_000), soak.rng.uniform(3, 8)
    stopped = []

    def pause(num_bytes):
        if num_bytes < at or stopped:
            return 0
        stopped.append(True)
        return seconds

    async with RawClient(soak.port, soak.patience, receive_buffer=4096) as client:
        await client.send(stream_of(request))
        answer = (await client.read_answer(most=2000, pause=pause)).check()
    soak.counts.judge(request, answer, alone)
    return "whole"


@fault(every=60)
async def never_read(soak):
    """Dropped when nothing has moved for the write timeout. The answer is larger than what a system's sockets hold."""
    request = {"prompt": "river " * 900, "echo": True, "logprobs": 20, "n": 16, "max_tokens": 0, "stream": True}  # 5 MB
    before = await metric(soak.port, "brio:http_slow_readers_total")
    async with RawClient(soak.port, soak.patience, receive_buffer=4096) as client:
        await client.send(post(request, COMPLETIONS))
        deadline = time.monotonic() + soak.patience + WRITE_TIMEOUT
        while await metric(soak.port, "brio:http_slow_readers_total") == before:
            if time.monotonic() > deadline:
                raise Broken("a client that reads nothing is still served")
            await asyncio.sleep(0.2)
        data, _ = await wait_for_end(client, soak.patience)
    if data.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n"):
        raise Broken("a client that was dropped got a whole answer")
    return "dropped"


# ---- requests that are none ----


def bodies():
    hello = [{"role": "user", "content": "Hello"}]
    yield b""
    yield b"{"
    yield b"[1, 2"
    yield b"\xff\xfe\x00"
    yield b"null"
    yield b'{"messages": [{"role": "user", "content": "\xc3\x28"}]}'
    yield b'{"messages": "Hello"} trailing'
    yield b"[" * 100_000
    yield b'{"a":' * 10_000
    yield b'{"messages": [{"role": "user", "content": "\\ud800"}], "max_tokens": 1e999}'
    for field, value in [
        ("messages", {}),
        ("messages", [None]),
        ("messages", [{"role": 7, "content": "x"}]),
        ("messages", [{"role": "user", "content": [{"type": "text", "text": 5}]}]),
        ("max_tokens", "many"),
        ("max_tokens", -1),
        ("max_tokens", 2**63),
        ("temperature", "hot"),
        ("temperature", []),
        ("stream", "yes"),
        ("n", 10**9),
        ("stop", [[]]),
        ("logit_bias", {"x": 1}),
        ("top_logprobs", 10**6),
        ("seed", {}),
    ]:
        yield json.dumps({"messages": hello, "max_tokens": 1, field: value}).encode()


async def expect(soak, data, *statuses):
    answer = await answer_to(soak, data)
    if not answer.complete or answer.status not in statuses:
        got = f"{answer.status} {answer.body[:200]!r}" + ("" if answer.complete else ", cut off")
        raise Broken(f"{data[:120]!r} ({len(data)} bytes) got {got}, expected {statuses}")
    if answer.body and answer.status != 200:
        json.loads(answer.body)["error"]["message"]


@fault(every=10)
async def malformed_bodies(soak):
    for body in bodies():
        await expect(soak, post(body), 400)
    return "refused"


@fault(every=10)
async def wrong_framing(soak):
    head = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n".encode()
    body = json.dumps({"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1}).encode()
    await expect(soak, head + b"Content-Length: %d\r\n\r\n" % (len(body) - 5) + body, 400)
    await expect(soak, head + b"Content-Length: 5, 6\r\n\r\n" + body, 400)
    await expect(soak, head + b"Content-Length: 99999999999999999999\r\n\r\n" + body, 400, 413)
    await expect(soak, head + b"Content-Length: -3\r\n\r\n" + body, 400)
    await expect(soak, head + b"Transfer-Encoding: chunked\r\n\r\nhello\r\n" + body, 400)
    await expect(soak, head + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhelloworld\r\n0\r\n\r\n", 400)
    await expect(soak, head + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n" + body, 400, 413)
    await expect(soak, head + b"Transfer-Encoding: chunked\r\n\r\n5;" + b"x" * TOO_LARGE_HEADER, 400)
    await expect(soak, head + b"Transfer-Encoding: gzip\r\n\r\n" + body, 501)
    await expect(soak, head + b"Content-Length: %d\r\n\r\n" % TOO_LARGE_BODY + b"x" * 100_000, 413)
    # A body that ends early: whoever half-closes has gone and gets nothing, but is not left waiting.
    async with RawClient(soak.port, soak.patience) as client:
        await client.send(head + b"Content-Length: %d\r\n\r\n" % (len(body) + 100) + body)
        client.half_close()
        while await client.receive():
            pass
    return "refused"


@fault(every=10)
async def hostile_heads(soak):
    line = b"GET /health HTTP/1.1\r\nHost: x\r\n"
    await expect(soak, line + b"X: " + b"y" * TOO_LARGE_HEADER + b"\r\n\r\n", 431)
    await expect(soak, line + b"".join(b"X-%d: y\r\n" % i for i in range(10_000)) + b"\r\n", 431)
    await expect(soak, b"GET /" + b"a" * TOO_LARGE_HEADER + b" HTTP/1.1\r\nHost: x\r\n\r\n", 431)
    await expect(soak, line + b"Bad Name: y\r\n\r\n", 400)
    await expect(soak, line + b"X: a\0b\r\n\r\n", 400)
    await expect(soak, b"GET /health HTTP/1.1\r\n\r\n", 400)
    await expect(soak, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, 505)
    await expect(soak, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400)
    await expect(soak, b"\0" * 5000, 400)
    return "refused"


# ---- sockets that are half open ----


async def wait_for_end(client, most_seconds):
    """Everything until the server closes, which it has to do in time."""
    start, data = time.monotonic(), b""
    client.patience = most_seconds
    while piece := await client.receive():
        data += piece
    return data, time.monotonic() - start


@fault(every=30)
async def say_nothing(soak):
    async with RawClient(soak.port, soak.patience) as client:
        _, seconds = await wait_for_end(client, IDLE_TIMEOUT + SLACK)
    if seconds < IDLE_TIMEOUT - 1 and not soak.ending:
        raise Broken(f"an idle connection was closed after {seconds:.0f} s")
    return "closed"


async def drip(soak, head, rest, pause, timeout):
    """Sends the head, then a byte at a time for ever; the server has to answer 408 and close in time."""
    async with RawClient(soak.port, soak.patience) as client:
        await client.send(head)

        async def go_on():
            while True:
                await asyncio.sleep(pause)
                await client.send(rest)

        dripping = asyncio.ensure_future(go_on())
        try:
            data, _ = await wait_for_end(client, timeout + SLACK)
        finally:
            dripping.cancel()
            await asyncio.gather(dripping, return_exceptions=True)
    if not data.startswith(b"HTTP/1.1 408 "):
        raise Broken(f"a request that never ends was answered with {data[:100]!r}")
    return "refused in time"


@fault(every=30)
async def head_without_end(soak):
    return await drip(soak, b"GET /health HTTP/1.1\r\nHost: x\r\nX: ", b"y", 2, HEADER_TIMEOUT)


@fault(every=30)
async def body_without_end(soak):
    head = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n".encode()
    return await drip(soak, head, b" ", 5, BODY_TIMEOUT)


# ---- held during the whole load ----


async def hold_idle_connections(soak, count):
    """Connections that ask once in a while and are otherwise idle; who is closed for that comes back."""

    async def hold(number):
        while not soak.ending:
            async with RawClient(soak.port, soak.patience) as client:
                soak.num_idle += 1
                try:
                    if number % 2:
                        await client.send(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
                        answer = await client.read_answer()
                        if answer.status != 200:
                            raise Broken(f"/health answers {answer.status}")
                    _, seconds = await wait_for_end(client, IDLE_TIMEOUT + SLACK)
                finally:
                    soak.num_idle -= 1
            if seconds < IDLE_TIMEOUT - 1:
                raise Broken(f"an idle connection was closed after {seconds:.0f} s")
            soak.counts.note("idle connections", "closed in time")

    async def hold_and_report(number):
        await asyncio.sleep(soak.rng.random() * min(IDLE_TIMEOUT, soak.seconds / 4))  # not all of them in one moment
        try:
            await hold(number)
        except (Broken, OSError) as failure:
            soak.counts.problem("idle connections", failure)

    await together(*(hold_and_report(number) for number in range(count)))
