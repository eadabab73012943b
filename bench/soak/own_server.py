"""A server that belongs to one fault, and streams that are under way on it."""

import asyncio
import contextlib
import subprocess

from answers import Broken, Hung
from brio_server import BrioServer
from faults import RawClient, ask_and_judge, stream_of, together

START_SECONDS = 300


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
