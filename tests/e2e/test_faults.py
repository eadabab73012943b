"""Each fault of bench/soak once, short: what clients, networks and the system do to a server harms nobody else.

Those that wait for a timeout of the server's are tested in net/http_server_test.cc, with shorter ones.
"""

import asyncio
import sys

import pytest

from brio_server import BINARY, REPOSITORY

sys.path[:0] = [str(REPOSITORY / "bench"), str(REPOSITORY / "bench" / "soak")]
import soak as soak_run  # noqa: E402
from answers import wait_idle  # noqa: E402
from downloads import prepare_store  # noqa: E402

WAIT_FOR_A_TIMEOUT = {"never_read", "say_nothing", "head_without_end", "body_without_end"}
FAULTS = [name for name in soak_run.FAULTS if name not in WAIT_FOR_A_TIMEOUT]


@pytest.fixture(scope="module")
def soak(server, model_path, tmp_path_factory):
    soak = soak_run.Soak(BINARY, model_path, patience=120)
    soak.home, soak.stored_name = prepare_store(model_path, tmp_path_factory.mktemp("store"))
    asyncio.run(soak.prepare(server.port, num_cases=6, num_seeded=1))
    return soak


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_harms_nobody(soak, name):
    asyncio.run(soak_run.inject(soak, name))
    assert not soak.counts.problems, soak.counts.problems.pop()
    assert name.replace("_", " ") in soak.counts.outcomes


def test_afterwards_nothing_is_left_over(soak):
    asyncio.run(wait_idle(soak.port, 60))
    counts = soak.counts
    assert (counts.lost_tokens, counts.duplicated_tokens, counts.wrong_answers, counts.hung_clients) == (0, 0, 0, 0)
    request, alone = soak.long_case
    asyncio.run(soak_run.ask_and_judge(soak, soak.port, request, alone))
