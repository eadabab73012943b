"""What all faults share: their names, what they may use, and how an answer is judged."""

import asyncio
import collections
import socket
import struct

from answers import Answer, Broken, Hung, ask, post, streamed

FAULTS = {}  # name -> Fault, in the order of the report


class Fault:
    def __init__(self, run, every, own_server):
        self.run, self.every, self.own_server = run, every, own_server


def fault(every):
    """A coroutine function `name(soak)` as a fault against the shared server, started each `every` seconds."""

    def register(run):
        FAULTS[run.__name__] = Fault(run, every, own_server=False)
        return run

    return register


def fault_with_own_server(run):
    """A fault that ends or starves its server: it starts one of its own. One at a time, evenly over the run."""
    FAULTS[run.__name__] = Fault(run, None, own_server=True)
    return run


class Counts:
    """Requests by what became of them, tokens that went wrong, and what must not happen."""

    def __init__(self):
        self.outcomes = collections.defaultdict(collections.Counter)  # kind -> outcome -> count
        self.lost_tokens = self.duplicated_tokens = self.wrong_answers = self.hung_clients = 0
        self.problems = []

    def note(self, kind, outcome, count=1):
        self.outcomes[kind][outcome] += count

    def problem(self, kind, failure):
        self.note(kind, "hung" if isinstance(failure, Hung) else "BROKEN")
        self.hung_clients += isinstance(failure, Hung)
        self.problems.append(f"{kind}: {type(failure).__name__}: {failure}"[:600])

    def judge(self, request, got, alone):
        """Raises Broken unless the answer is the one this request got when it ran alone, token by token."""
        self.lost_tokens += max(0, got.lost_tokens)
        self.duplicated_tokens += max(0, -got.lost_tokens)
        if got.lost_tokens:
            raise Broken(f"{request}: {got.completion_tokens} tokens in the usage, {got.lost_tokens} of them not sent")
        if got.same() != alone.same():
            self.wrong_answers += 1
            raise Broken(f"{request}: {got.same()!r} instead of {alone.same()!r}")

    def judge_beginning(self, request, got, alone):
        if not got.begins(alone):
            self.wrong_answers += 1
            raise Broken(f"{request}: {got.same()!r} does not begin {alone.same()!r}")


async def together(*coroutines):
    """Runs all of them to their ends, then raises what the first of them raised."""
    results = await asyncio.gather(*coroutines, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


async def ask_and_judge(soak, port, request, alone, stream=True):
    got = await ask(port, request, stream, soak.patience)
    soak.counts.judge(request, got, alone)
    return got


# ---- raw sockets, for what an HTTP client would not do ----


class RawClient:
    """A socket that sends what it is told and reads as slowly as it is told."""

    def __init__(self, port, patience, receive_buffer=None):
        self.port, self.patience = port, patience
        self.loop = asyncio.get_running_loop()
        self.socket = socket.socket()
        self.socket.setblocking(False)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)

    async def __aenter__(self):
        try:
            await self._in_time(self.loop.sock_connect(self.socket, ("127.0.0.1", self.port)))
        except BaseException:
            self.socket.close()
            raise
        return self

    async def __aexit__(self, *_):
        self.socket.close()

    async def _in_time(self, action):
        try:
            return await asyncio.wait_for(action, self.patience)
        except asyncio.TimeoutError:
            raise Hung(f"no progress for {self.patience} s") from None

    async def send(self, data):
        await self._in_time(self.loop.sock_sendall(self.socket, data))

    async def receive(self, most=65536):
        """b"" at the end of the stream and on a reset."""
        try:
            return await self._in_time(self.loop.sock_recv(self.socket, most))
        except ConnectionError:
            return b""

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        """Closes with RST instead of FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    async def read_answer(self, answer=None, most=65536, pause=lambda num_bytes: 0, until=lambda answer: False):
        """An Answer (more of one), complete or not, read `most` bytes at a time with a pause before each read."""
        answer, num_bytes = answer or Answer(), 0
        while not answer.complete and not until(answer):
            await asyncio.sleep(pause(num_bytes))
            piece = await self.receive(most)
            if not piece:
                break
            num_bytes += len(piece)
            answer.feed(piece)
        return answer


async def answer_to(soak, data, port=None):
    """The Answer to bytes that need not be HTTP."""
    async with RawClient(port or soak.port, soak.patience) as client:
        await client.send(data)
        return await client.read_answer()


def stream_of(request):
    return post(streamed(request))
