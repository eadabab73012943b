"""The commands as a shell uses them: streams that are closed, full or nobody's, Ctrl-C, terminals of every kind."""
import fcntl
import os
import pathlib
import pty
import re
import signal
import subprocess
import time

import pytest

BINARY = pathlib.Path(os.environ.get("BRIO_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build")) / "brio"

pytestmark = pytest.mark.skipif(not BINARY.exists(), reason=f"{BINARY} is not built")


@pytest.fixture(scope="module")
def model(models):
    return models / "llama-mha-d64.gguf"


def brio(*arguments, **options):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output="stdout" not in options, timeout=300, **options)


def test_no_file_takes_the_number_of_a_closed_stream(model):
    command = ["sh", "-c", 'exec "$0" "$@" 2>&-', BINARY, "serve", model, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        for line in server.stdout:
            if line.startswith("url"):
                break
        try:
            assert os.readlink(f"/proc/{server.pid}/fd/2") == "/dev/null"
        finally:
            server.terminate()


def test_a_conversation_that_nobody_reads_ends(model):
    nobody, output = os.pipe()
    os.close(nobody)
    ended = brio("run", model, "--raw", "-n", 2, input=b"hi\n" * 50, stdout=output, stderr=subprocess.PIPE)
    os.close(output)
    assert ended.returncode == 3
    assert ended.stderr.count(b"error:") == 1, ended.stderr


def test_answers_to_a_pipe_are_nothing_but_answers(model):
    ended = brio("run", model, "--raw", "-n", 2, input=b"hi\nho\n")
    assert ended.returncode == 0 and ended.stdout.count(b"\n") == 2
    assert b"TTFT" not in ended.stdout and ended.stderr.count(b"TTFT") == 2


def test_ctrl_c_while_the_reader_is_slow_is_no_failed_write(model):
    reader, output = os.pipe()
    size = fcntl.fcntl(output, fcntl.F_GETPIPE_SZ)
    os.write(output, b"." * size)  # full: the first piece of the answer has to wait
    command = [BINARY, "run", model, "--raw", "-p", "hi", "--ignore-eos", "--log-steps"]
    with subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE) as process:
        os.close(output)
        process.stderr.readline()
        time.sleep(1)  # the write is under way
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        while os.read(reader, size):
            pass
        said = process.stderr.read()
    os.close(reader)
    assert process.returncode == 130, said
    assert b"interrupted" in said and b"cannot write" not in said


@pytest.mark.parametrize("variables, colours", [
    ({"TERM": "xterm"}, True),
    ({"TERM": "xterm", "NO_COLOR": ""}, True),  # no-color.org: an empty value asks for nothing
    ({"TERM": "xterm", "NO_COLOR": "1"}, False),
    ({"TERM": "dumb"}, False),
    ({}, False),
])
def test_colours_are_for_terminals_that_have_them(variables, colours):
    environment = {name: value for name, value in os.environ.items() if name not in ("TERM", "NO_COLOR")}
    ours, terminal = pty.openpty()
    ended = brio("run", "no-such-model", stdout=subprocess.DEVNULL, stderr=terminal, env={**environment, **variables})
    os.close(terminal)
    said = os.read(ours, 1 << 16)
    os.close(ours)
    assert ended.returncode == 4 and b"no-such-model" in said
    assert (b"\x1b[" in said) == colours, said


def test_an_unknown_command_is_named():
    ended = brio("rum", "smollm2-135m")
    assert ended.returncode == 2 and b"'rum'" in ended.stderr


def test_help_that_could_not_be_written_is_an_error():
    with open("/dev/full", "wb") as full:
        assert brio("--help", stdout=full).returncode == 3
    assert re.search(rb"^\s+serve", brio("--help").stdout, re.MULTILINE)


def test_sizes_in_lower_case(model):
    command = [BINARY, "serve", model, "--port", "0", "--kv-memory", "64m", "--print-config"]
    assert subprocess.run(command, capture_output=True, timeout=300).returncode == 0


def test_an_empty_npy_path_is_refused(model):
    ended = brio("logits", model, "--tokens", "1,2", "--npy", "")
    assert ended.returncode == 2 and b"--npy" in ended.stderr, ended.stderr
