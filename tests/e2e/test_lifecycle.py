"""From start to exit: not ready while loading, drained by SIGTERM, limits of the queue."""

import json
import signal
import threading
import time
import urllib.error

import pytest

from brio_server import BrioServer, find_model

LONG = {"messages": [{"role": "user", "content": "Tell a long story."}], "max_tokens": 150, "ignore_eos": True, "temperature": 0}


def in_background(server, body):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(server.post("/v1/chat/completions", body)))
    thread.start()
    return thread, answers


def test_sigterm_finishes_what_is_under_way_and_refuses_the_rest(start_server):
    server = start_server("--ctx", 512).wait_ready()
    thread, answers = in_background(server, LONG)
    server.wait_metric("brio:num_requests_running", lambda value: value == 1)
    server.terminate()
    refused = []
    while thread.is_alive() and not refused:
        status, _, text = server.request("GET", "/health")
        if status == 503:
            assert json.loads(text) == {"status": "draining"}
            refused.append(server.post("/v1/chat/completions", LONG))
    thread.join()
    assert refused and refused[0][0] == 503 and refused[0][1]["error"]["code"] == "unavailable"
    assert answers[0][0] == 200 and answers[0][1]["usage"]["completion_tokens"] == 150
    assert server.wait() == 0


def test_a_second_signal_ends_at_once(start_server):
    server = start_server("--ctx", 2048).wait_ready()

    def post():
        try:
            server.post("/v1/chat/completions", {**LONG, "max_tokens": 2000})
        except (urllib.error.URLError, ConnectionError, OSError, json.JSONDecodeError):
            pass

    thread = threading.Thread(target=post)
    thread.start()
    server.wait_metric("brio:num_requests_running", lambda value: value == 1)
    server.terminate()
    time.sleep(0.2)
    assert server.process.poll() is None, "one signal waits"
    server.process.send_signal(signal.SIGINT)
    assert server.wait() == 0
    thread.join()


def test_an_idle_server_ends_with_the_first_signal(start_server):
    server = start_server("--ctx", 512).wait_ready()
    server.process.send_signal(signal.SIGINT)
    assert server.wait() == 0


def test_health_is_503_until_the_model_is_loaded(start_server):
    server = start_server("--ctx", 512)
    seen = []
    while not seen or seen[-1][0] != 200:
        seen.append(server.get("/health"))
        assert server.process.poll() is None
    for status, text in seen[:-1]:
        assert status == 503 and json.loads(text) == {"status": "loading"}


def test_the_start_page_says_what_was_chosen(start_server):
    server = start_server("--kv-memory", "64M", "--ctx", 512, "--max-sequences", 4).wait_ready()
    server.terminate()
    assert server.wait() == 0
    server._reader.join()
    text = "".join(server.output)
    assert "--ctx" in text and "512" in text and "--kv-memory" in text and f"curl {server.url}/v1/chat/completions" in text


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--kv-memory", "many"], "--kv-memory many"),
        (["--kv-memory", "1K"], "KV cache"),
        (["--ctx", 10**6], "--ctx is 1000000"),
        (["--host", "no.such.host.invalid"], "no.such.host.invalid"),
    ],
)
def test_impossible_flags_end_with_an_error(model_path, flags, message):
    try:
        server = BrioServer(model_path, *flags)
    except RuntimeError as ended:
        assert message in str(ended)
        return
    assert server.wait() != 0
    server._reader.join()
    assert message in "".join(server.output)


def test_a_full_queue_is_a_429(start_server):
    server = start_server("--ctx", 512, "--max-sequences", 1, "--max-queue", 1).wait_ready()
    threads = [in_background(server, LONG)[0]]
    server.wait_metric("brio:num_requests_running", lambda value: value >= 1)  # else the second may find the queue full
    threads.append(in_background(server, LONG)[0])
    server.wait_metric("brio:num_requests_waiting", lambda value: value >= 1)
    status, headers, text = server.request("POST", "/v1/chat/completions", LONG)
    assert status == 429 and headers["Retry-After"] and json.loads(text)["error"]["type"] == "rate_limit_error"
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("flags", [["--batching", "static", "--batch-size", 2], ["--batching", "dynamic", "--batch-size", 4, "--batch-wait-ms", 20]])
def test_other_batching_policies_answer_the_same(start_server, server, flags):
    other = start_server("--ctx", 512, *flags).wait_ready()
    body = {**LONG, "max_tokens": 16}
    pair = [in_background(other, body) for _ in range(2)]
    for thread, _ in pair:
        thread.join()
    expected = server.post("/v1/chat/completions", body)[1]["choices"][0]["message"]["content"]
    for _, answers in pair:
        assert answers[0][1]["choices"][0]["message"]["content"] == expected


def test_a_base_model_says_so_on_chat():
    path = find_model("gemma3-270m")
    if path is None:
        pytest.skip("gemma3-270m.gguf is not here")
    server = BrioServer(path, "--ctx", 256, "--max-sequences", 2)
    try:
        server.wait_ready()
        status, answer = server.post("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]})
        assert status == 400 and "chat template" in answer["error"]["message"] and "/v1/completions" in answer["error"]["message"]
        assert server.post("/v1/completions", {"prompt": "Two plus two is", "max_tokens": 4})[0] == 200
    finally:
        server.kill()
