"""A client that leaves frees the engine, streamed or not; one that does not read harms nobody."""

import json
import socket

ABORTS = 'brio:request_finished_total{finished_reason="abort"}'


def post(server, body, receive_buffer=None):
    data = json.dumps({"messages": [{"role": "user", "content": "Count to a thousand."}], **body}).encode()
    connection = socket.socket()
    if receive_buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.settimeout(60)
    connection.connect(("127.0.0.1", server.port))
    connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(data) + data)
    return connection


def read_until_data(connection):
    # The head and the first event are separate writes, and TCP may deliver them apart.
    received = b""
    while b"data: " not in received:
        piece = connection.recv(4096)
        assert piece, received
        received += piece


def endless(**more):
    return {"max_tokens": 900, "ignore_eos": True, **more}


def wait_free(server):
    server.wait_metric("brio:num_requests_running", lambda value: value == 0)
    server.wait_metric("brio:kv_blocks_used", lambda value: value == 0)


def test_leaving_mid_stream_aborts(server):
    before = server.metrics()[ABORTS]
    connection = post(server, endless(stream=True))
    read_until_data(connection)
    connection.close()
    server.wait_metric(ABORTS, lambda value: value == before + 1)
    wait_free(server)


def test_leaving_while_the_answer_is_made_aborts(server):
    before = server.metrics()[ABORTS]
    connection = post(server, endless(stream=False))
    server.wait_metric("brio:num_requests_running", lambda value: value >= 1)
    connection.close()
    server.wait_metric(ABORTS, lambda value: value == before + 1)
    wait_free(server)


def test_leaving_with_a_reset_aborts_all_choices(server):
    before = server.metrics()[ABORTS]
    connection = post(server, endless(stream=True, n=3))
    read_until_data(connection)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()
    server.wait_metric(ABORTS, lambda value: value == before + 1)
    wait_free(server)


def test_a_client_that_does_not_read_holds_up_nobody(server):
    lazy = post(server, endless(stream=True, n=2, logprobs=True, top_logprobs=20, max_tokens=60), receive_buffer=4096)
    status, answer = server.post("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 8})
    assert status == 200 and answer["usage"]["completion_tokens"] > 0
    server.wait_metric("brio:num_requests_running", lambda value: value == 0)
    lazy.close()
    wait_free(server)
