"""What goes wrong is said in OpenAI's words, with the field at fault."""

import json
import socket

import openai
import pytest

MODEL = "smollm2-135m"
HELLO = [{"role": "user", "content": "Hello"}]


def test_the_client_sees_its_own_exceptions(client):
    with pytest.raises(openai.NotFoundError) as unknown:
        client.chat.completions.create(model="gpt-9", messages=HELLO)
    assert unknown.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as hot:
        client.chat.completions.create(model=MODEL, messages=HELLO, temperature=3)
    assert hot.value.param == "temperature"
    with pytest.raises(openai.BadRequestError) as long:
        client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "word " * 3000}])
    assert long.value.code == "context_length_exceeded"
    with pytest.raises(openai.BadRequestError) as streamed:
        client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "word " * 3000}], stream=True)
    assert streamed.value.code == "context_length_exceeded"
    with pytest.raises(openai.BadRequestError) as shape:
        client.chat.completions.create(model=MODEL, messages=HELLO, response_format={"type": "xml"})
    assert shape.value.param == "response_format.type"


@pytest.mark.parametrize(
    "body, param",
    [
        (b"{", None),
        (b"[]", None),
        (b"\xff\xfe", None),
        ({"messages": []}, "messages"),
        ({"messages": HELLO, "n": 0}, "n"),
        ({"messages": HELLO, "n": 250}, "n"),
        ({"messages": HELLO, "max_tokens": 0}, "max_tokens"),
        ({"messages": HELLO, "logit_bias": {"999999": 1}}, "logit_bias"),
        ({"messages": HELLO, "stop_token_ids": [999999]}, "stop_token_ids[0]"),
        ({"messages": HELLO, "stop": [""]}, "stop[0]"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}, "messages[0].content[0].type"),
    ],
)
def test_bad_chat_requests_are_400_and_name_the_field(server, body, param):
    status, answer = server.post("/v1/chat/completions", body)
    assert status == 400
    assert answer["error"]["type"] == "invalid_request_error"
    assert answer["error"]["param"] == param, answer


def test_bad_prompts(server):
    for prompt, param in (([10**6], "prompt"), ([], "prompt"), ([-1], "prompt[0]")):
        status, answer = server.post("/v1/completions", {"prompt": prompt})
        assert (status, answer["error"]["param"]) == (400, param)


def test_paths_and_methods(server):
    assert server.request("GET", "/v1/none")[0] == 404
    assert server.request("GET", "/v1/chat/completions")[0] == 405
    assert server.request("POST", "/health", b"")[0] == 405
    assert server.request("HEAD", "/health")[0] == 200


def test_models(client, server):
    models = client.models.list().data
    assert [model.id for model in models] == [MODEL]
    assert models[0].model_extra["context_length"] == 1024
    assert client.models.retrieve(MODEL).id == MODEL
    assert server.get("/v1/models/other")[0] == 404


def test_requests_cut_at_any_byte_are_answered(server):
    body = json.dumps({"messages": HELLO, "max_tokens": 1, "temperature": 0}).encode()
    request = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body
    for cut in range(1, len(request), 7):
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(request[:cut])
            connection.sendall(request[cut:])
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
        assert answer.startswith(b"HTTP/1.1 200 "), cut
