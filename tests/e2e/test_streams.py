"""Many clients at once: each answer equals its solo run. bench/streams.py is the long version of the same."""

import sys

from brio_server import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "bench"))
import streams  # noqa: E402


def test_concurrent_streams_equal_solo_runs(start_server):
    server = start_server("--ctx", 1024, "--max-sequences", 16).wait_ready()
    report = streams.run(server.port, server.process.pid, clients=32, seconds=20, cases=10)
    assert report["answers"] > 32 and report["aborts"] > 0 and report["stops"] > 0, report
    assert not report["problems"], report["problems"]
