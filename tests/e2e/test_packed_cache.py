"""The packed file as its user meets it: the second start maps it, a bad one is said to be bad and replaced, and the answer is
the same every time."""

import json
import os
import subprocess

import pytest

from brio_server import BINARY, BrioServer, limited


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    writer = BINARY.parent / "write_tiny_model"
    if not BINARY.exists() or not writer.exists():
        pytest.skip("brio and write_tiny_model are not built")
    folder = tmp_path_factory.mktemp("tiny")
    subprocess.run([writer, folder], check=True, stdout=subprocess.DEVNULL)
    return folder / "llama-Q4_K.gguf"


def run(model, cache, *limits):
    command = [BINARY, "run", model, "--raw", "--json", "-p", "a", "-n", "8", "--ignore-eos", "--packed-cache", cache]
    done = subprocess.run(limited(command, *limits), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["tokens"], done.stderr


def packed_file(cache):
    (path,) = cache.glob("*.packed")
    return path


def test_the_second_start_maps_what_the_first_one_kept(model, tmp_path):
    expected, _ = run(model, "off")
    first, said = run(model, tmp_path)
    assert "for a faster next start" in said
    assert os.listdir(tmp_path) == [packed_file(tmp_path).name]
    second, said = run(model, tmp_path)
    assert said.count("packed") == 0
    assert first == second == expected


def test_a_damaged_file_is_said_and_replaced(model, tmp_path):
    expected, _ = run(model, tmp_path)
    path = packed_file(tmp_path)
    good = path.read_bytes()
    with open(path, "r+b") as file:
        file.seek(len(good) - 1000)
        file.write(b"\x55" * 100)
    tokens, said = run(model, tmp_path)
    assert "differ from their checksum; packing again" in said
    assert tokens == expected
    assert path.read_bytes() == good


def test_a_truncated_file_is_said_and_replaced(model, tmp_path):
    expected, _ = run(model, tmp_path)
    path = packed_file(tmp_path)
    good = path.read_bytes()
    for length in (0, 5, 40, 300, len(good) // 2, len(good) - 1):
        path.write_bytes(good[:length])
        tokens, said = run(model, tmp_path)
        assert "packing again" in said
        assert tokens == expected
        assert path.read_bytes() == good


def test_a_full_disk_costs_the_file_alone(model, tmp_path):
    expected, _ = run(model, "off")
    tokens, said = run(model, tmp_path, "-f 64")  # blocks of 512 bytes
    assert tokens == expected
    assert "packed weights are not kept: " in said
    assert os.listdir(tmp_path) == []


def test_a_server_says_what_it_maps(model, tmp_path):
    run(model, tmp_path)
    server = BrioServer(model, "--packed-cache", tmp_path).wait_ready()
    server.terminate()
    server.wait()
    assert any("of weights, mapped" in line for line in server.output)


def test_several_first_starts_at_once(model, tmp_path):
    command = [BINARY, "run", model, "--raw", "--json", "-p", "a", "-n", "8", "--ignore-eos", "--packed-cache", tmp_path]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for _ in range(4)]
    answers = [json.loads(process.communicate()[0])["tokens"] for process in started]
    assert all(answer == answers[0] for answer in answers)
    assert os.listdir(tmp_path) == [packed_file(tmp_path).name]
    _, said = run(model, tmp_path)
    assert "packing again" not in said
