"""One request to `brio serve` and its answer over a plain socket: whatever the answer is made of is checked as it comes.

    answer = await ask(port, {"messages": [...], "temperature": 0}, stream=True)
    answer.text, answer.reason, answer.tokens, answer.completion_tokens

An Answer is fed with the bytes of the socket, so that readers of any speed share the same checks. Every token is asked
for with its logprob: their number has to equal usage.completion_tokens. Standard library only.
"""

import asyncio
import json
import re
import time

WORDS = "red green blue river mountain castle seven quickly because 猫 犬 λόγος naïve 🙂 print(x) {} \n".split(" ")
CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"


class Broken(Exception):
    """What came back is not what has to come back."""


class Hung(Broken):
    """No progress for as long as the client was ready to wait."""


class Refused(Broken):
    """An answer that is whole and says no."""

    def __init__(self, status, message):
        super().__init__(f"status {status}: {message}")
        self.status, self.message = status, message


class Choice:
    def __init__(self):
        self.text, self.reason, self.stop, self.tokens = "", None, None, []

    def add(self, text, logprobs, reason, stop):
        if self.reason is not None:
            raise Broken("something comes after the finish reason")
        self.text += text or ""
        self.tokens += [(entry["token"], entry["logprob"]) for entry in (logprobs or {}).get("content") or []]
        self.reason, self.stop = reason, stop

    def num_tokens(self):
        """The token that ends an answer by its id is counted in the usage but never shown."""
        return len(self.tokens) + (self.reason == "stop" and self.stop is None)


class Answer:
    """An answer on its way: status, headers, body; of a chat its choices, token by token, and the usage."""

    def __init__(self, requested_at=None):
        self.requested_at = time.monotonic() if requested_at is None else requested_at
        self.status, self.headers, self.body = None, {}, b""
        self.choices, self.usage, self.num_deltas, self.first_token_at, self.ended_at = {}, None, 0, None, None
        self.complete, self.error = False, None  # error: how a stream says that it cannot go on
        self._pending, self._events = b"", b""

    # ---- bytes in ----

    def feed(self, data):
        self._pending += data
        if self.status is None and not self._take_head():
            return
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            self.body += self._pending
            self._pending = b""
            if len(self.body) >= int(self.headers.get("content-length", "0")):
                self._end()
            return
        while not self.complete and (line := self._pending.find(b"\r\n")) >= 0:
            size = int(self._pending[:line], 16)
            end = line + 2 + size + 2
            if len(self._pending) < end:
                return
            self._events += self._pending[line + 2 : end - 2]
            self._pending = self._pending[end:]
            self._take_events()
            if size == 0:
                raise Broken("the stream ended without [DONE]")

    def _take_head(self):
        end = self._pending.find(b"\r\n\r\n")
        if end < 0:
            return False
        lines = self._pending[:end].decode("latin-1").split("\r\n")
        self._pending = self._pending[end + 4 :]
        found = re.fullmatch(r"HTTP/1\.1 (\d{3}) .*", lines[0])
        if not found:
            raise Broken(f"no status line: {lines[0]!r}")
        self.status = int(found.group(1))
        self.headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
        return True

    def _take_events(self):
        while b"\n\n" in self._events:
            event, self._events = self._events.split(b"\n\n", 1)
            if event == b"data: [DONE]":
                return self._end()
            if event.startswith(b":"):
                continue  # a comment: the server waits for a long prompt
            chunk = json.loads(event[len(b"data: ") :])
            if "error" in chunk:
                self.error = chunk["error"]["message"]
                return self._end()
            for choice in chunk["choices"]:
                delta = choice["delta"]
                self._add(choice, delta.get("content"))
                if delta.get("content") or choice["logprobs"]:
                    self.num_deltas += 1
                    self.first_token_at = self.first_token_at or time.monotonic()
            self.usage = chunk.get("usage") or self.usage

    def _add(self, choice, text):
        self.choices.setdefault(choice["index"], Choice()).add(text, choice["logprobs"], choice["finish_reason"], choice.get("stop_reason"))

    def _end(self):
        self.complete, self.ended_at = True, time.monotonic()

    # ---- what it says ----

    def check(self):
        """Raises Broken unless this is a whole answer to a chat whose tokens are those of its usage."""
        if not self.complete:
            raise Broken(f"the answer broke off after {self.num_deltas} deltas")
        if self.error is not None:
            raise Refused(self.status, self.error)
        if self.status != 200:
            raise Refused(self.status, self.body.decode(errors="replace")[:300])
        if not self.choices:
            whole = json.loads(self.body)
            self.usage = whole["usage"]
            for choice in whole["choices"]:
                self._add(choice, choice["message"]["content"])
        if any(choice.reason is None for choice in self.choices.values()):
            raise Broken("[DONE] without a finish reason")
        return self

    @property
    def text(self):
        return "\0".join(choice.text for _, choice in sorted(self.choices.items()))

    @property
    def reason(self):
        return ",".join(choice.reason or "" for _, choice in sorted(self.choices.items()))

    @property
    def tokens(self):
        """[(token, logprob)] of each choice."""
        return [choice.tokens for _, choice in sorted(self.choices.items())]

    @property
    def completion_tokens(self):
        return self.usage["completion_tokens"]

    @property
    def lost_tokens(self):
        """Tokens of the usage that did not come; negative: that came too often."""
        return self.completion_tokens - sum(choice.num_tokens() for choice in self.choices.values())

    def same(self):
        """What has to be equal whenever the request is made again."""
        return self.text, self.reason, self.tokens

    def begins(self, other):
        """This one, left early, is the beginning of the other."""
        return all(
            other.choices[index].text.startswith(choice.text) and other.choices[index].tokens[: len(choice.tokens)] == choice.tokens
            for index, choice in self.choices.items()
        )


# ---- asking ----


def post(request, path=CHAT):
    body = request if isinstance(request, bytes) else json.dumps(request).encode()
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def streamed(request):
    return {**request, "stream": True, "stream_options": {"include_usage": True}, "logprobs": True}


async def receive(reader, patience):
    """The next bytes, b"" at the end; a server that resets the connection has ended it."""
    try:
        return await asyncio.wait_for(reader.read(65536), patience)
    except asyncio.TimeoutError:
        raise Hung(f"nothing came for {patience} s") from None
    except ConnectionError:
        return b""


async def exchange(port, data, patience=60, leave_after=None):
    """The Answer to these bytes, which may be anything; not checked, and cut off after leave_after deltas."""
    answer = Answer()
    reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), patience)
    try:
        writer.write(data)
        while not answer.complete and (piece := await receive(reader, patience)):
            answer.feed(piece)
            if leave_after is not None and answer.num_deltas >= leave_after:
                break
    finally:
        writer.close()
    return answer


async def ask(port, request, stream=True, patience=60):
    """The checked Answer to a chat request. Raises Broken, Hung, Refused or OSError."""
    data = post(streamed(request) if stream else {**request, "logprobs": True})
    return (await exchange(port, data, patience)).check()


async def get(port, path, patience=60):
    answer = await exchange(port, f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode(), patience)
    return answer.status, answer.body.decode()


async def metric(port, name):
    _, text = await get(port, "/metrics")
    values = re.findall(rf"^{re.escape(name)}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE)
    if not values:
        raise Broken(f"/metrics has no {name}")
    return sum(map(float, values))


async def wait_idle(port, seconds=10):
    """Nothing runs, waits or holds KV blocks within that time, else Broken."""
    for name in ("brio:num_requests_running", "brio:num_requests_waiting", "brio:kv_blocks_used"):
        deadline = time.monotonic() + seconds
        while value := await metric(port, name):
            if time.monotonic() > deadline:
                raise Broken(f"{name} stays at {value:g} with no client left")
            await asyncio.sleep(0.05)


# ---- what to ask ----


def make_request(rng):
    prompt = " ".join(rng.choice(WORDS) for _ in range(rng.choice([1, 5, 20, 31, 32, 33, 80, 200])))
    return {
        "messages": [{"role": "user", "content": prompt}],
        "temperature": 0,
        "max_tokens": rng.randint(1, 80),
        "ignore_eos": rng.random() < 0.5,
    }


async def make_cases(port, count, rng):
    """(request, Answer) from solo runs, half of them again with a stop string from the middle of the text."""
    cases = []
    for _ in range(count):
        request = make_request(rng)
        alone = await ask(port, request)
        cases.append((request, alone))
        if len(alone.text) > 12:
            at = rng.randrange(len(alone.text) // 4, len(alone.text) - 4)
            request = {**request, "stop": [alone.text[at : at + 3]]}
            stopped = await ask(port, request)
            if not alone.text.startswith(stopped.text) or stopped.reason != "stop":
                raise Broken(f"the stop string {request['stop']} did not end {alone.text!r} but gave {stopped.text!r}, {stopped.reason}")
            cases.append((request, stopped))
    for request, alone in cases:
        if alone.lost_tokens:
            raise Broken(f"{request}: alone {alone.lost_tokens} tokens are lost")
    return cases
