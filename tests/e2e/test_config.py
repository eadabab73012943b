"""brio serve: the same settings as flags, in the environment and in a file."""

import os
import subprocess
import tomllib

import pytest

from brio_server import BINARY


def run(*flags, **environment):
    if not BINARY.exists():
        pytest.skip(f"{BINARY} is not built")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BRIO_")}
    return subprocess.run([BINARY, "serve", *map(str, flags)], capture_output=True, text=True, timeout=60,
                          env={**kept, **environment})


def printed(*flags, **environment):
    shown = run(*flags, "--print-config", **environment)
    assert shown.returncode == 0, shown.stderr
    return tomllib.loads(shown.stdout), shown.stdout


def write(tmp_path, text):
    path = tmp_path / "brio.toml"
    path.write_text(text)
    return path


def test_flags_come_before_the_environment_and_that_before_the_file(tmp_path):
    path = write(tmp_path, 'model = "file"\nmax-queue = 1\nmax-sequences = 2\nport = 3\nlog-steps = true\n')
    config, text = printed("--config", path, "--port", 9, BRIO_PORT="8", BRIO_MAX_SEQUENCES="7")
    assert (config["model"], config["max-queue"], config["max-sequences"], config["port"]) == ("file", 1, 7, 9)
    assert config["log-steps"] is True and "# host = '127.0.0.1'  # default\n" in text
    assert "# --port\n" in text and "# BRIO_MAX_SEQUENCES\n" in text and f"# {path}:2: max-queue\n" in text


def test_what_is_printed_can_be_read_back(tmp_path):
    names = ["--served-model-name", "a", "--served-model-name", 'b "quoted"']
    config, text = printed("some/model.gguf", *names, "--kv-memory", "64M", "--ctx", 512)
    assert config["served-model-name"] == ["a", 'b "quoted"'] and config["kv-memory"] == "64M"
    again, _ = printed("--config", write(tmp_path, text))
    assert again == config


def test_lists(tmp_path):
    assert printed("m", BRIO_SERVED_MODEL_NAME="a,claude-*")[0]["served-model-name"] == ["a", "claude-*"]
    path = write(tmp_path, 'served-model-name = ["a", "b"]\n')
    assert printed("m", "--config", path)[0]["served-model-name"] == ["a", "b"]
    assert printed("m", BRIO_CONFIG=str(path))[0]["served-model-name"] == ["a", "b"]


@pytest.mark.parametrize(
    "text, line, words",
    [
        ("port = \n", 1, ""),
        ("\n\nprot = 3\n", 3, "prot: there is no such setting"),
        ("port = 3\n[section]\nx = 1\n", 2, "section: there is no such setting"),
        ("# one\nport = 99999\n", 2, "port: "),
        ("port = 'many'\n", 1, "port: "),
        ("max-queue = 1.5\n", 1, "max-queue: "),
        ("port = 1979-05-27\n", 1, "port: has to be"),
        ("served-model-name = []\n", 1, "served-model-name: has to be"),
        ("batching = 'sometimes'\n", 1, "batching: "),
        ("log-steps = 'perhaps'\n", 1, "log-steps: "),
        ("port = 1\nport = 2\n", 2, ""),
        ("\nbatch-size = 4\n", 2, "batch-size: changes nothing with continuous batching"),
        ("batching = 'static'\nbatch-wait-ms = 4\n", 2, "batch-wait-ms: changes nothing"),
        ("batching = 'static'\nmax-sequences = 2\nbatch-size = 4\n", 3, "batch-size: a batch of 4 never fills"),
        ("max-sequences = 8\nmax-batch-tokens = 4\n", 2, "max-batch-tokens: "),
        ("kv-memory = 'lots'\n", 1, "kv-memory"),
    ],
)
def test_errors_name_the_line(tmp_path, text, line, words):
    path = write(tmp_path, text)
    ended = run("model", "--config", path)
    assert ended.returncode in (2, 3), ended
    assert f"{path}:{line}: " in ended.stderr and words in ended.stderr, ended.stderr


def test_errors_name_the_variable_or_the_flag():
    assert "BRIO_PORT: " in run("model", BRIO_PORT="99999").stderr
    assert "--batch-size: changes nothing" in run("model", "--batch-size", 4).stderr
    assert "MODEL is missing" in run().stderr
    assert "no.such.file" in run("model", "--config", "no.such.file").stderr
    assert run("model", BRIO_KV_MEMORY="lots").returncode == 2
