"""/v1/messages with the official client."""

import asyncio
import json
import urllib.request

import anthropic
import pytest

MODEL = "claude-of-brio"  # matches the server's pattern
QUESTION = [{"role": "user", "content": "Name three colours of the rainbow."}]
GREEDY = {"temperature": 0}


def ask(client, **more):
    body = {"model": MODEL, "max_tokens": 32, "messages": QUESTION, "extra_body": GREEDY, **more}
    return client.messages.create(**body)


def text_of(message):
    return "".join(block.text for block in message.content)


def test_a_message_and_its_usage(anthropic_client, client):
    message = ask(anthropic_client)
    assert message.type == "message" and message.role == "assistant" and message.model == MODEL
    assert message.id.startswith("msg_") and message._request_id
    assert message.stop_reason in ("end_turn", "max_tokens") and message.stop_sequence is None
    openai_answer = client.chat.completions.create(model=MODEL, messages=QUESTION, temperature=0, max_tokens=32)
    assert text_of(message) == openai_answer.choices[0].message.content, "one request, two dialects"
    assert message.usage.input_tokens == openai_answer.usage.prompt_tokens
    assert message.usage.output_tokens == openai_answer.usage.completion_tokens


def test_a_stream_adds_up_to_the_message(anthropic_client):
    whole = ask(anthropic_client)
    with anthropic_client.messages.stream(model=MODEL, max_tokens=32, messages=QUESTION, extra_body=GREEDY) as stream:
        pieces = list(stream.text_stream)
        final = stream.get_final_message()
    assert len(pieces) > 1 and "".join(pieces) == text_of(whole)
    assert text_of(final) == text_of(whole)
    assert (final.stop_reason, final.usage.input_tokens, final.usage.output_tokens) == (
        whole.stop_reason, whole.usage.input_tokens, whole.usage.output_tokens)


def test_events_of_a_stream(anthropic_client):
    events = list(ask(anthropic_client, stream=True, max_tokens=6))
    kinds = [event.type for event in events if event.type != "ping"]
    assert kinds[:2] == ["message_start", "content_block_start"]
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert set(kinds[2:-3]) == {"content_block_delta"}
    assert events[0].message.usage.input_tokens > 10, "real from the start"
    assert events[-2].usage.output_tokens == 6 and events[-2].delta.stop_reason == "max_tokens"


def test_async(server):
    async def run():
        async with anthropic.AsyncAnthropic(base_url=server.url, api_key="none", max_retries=0) as client:
            answers = await asyncio.gather(*(ask(client, max_tokens=8) for _ in range(3)))
            async with client.messages.stream(model=MODEL, max_tokens=8, messages=QUESTION, extra_body=GREEDY) as stream:
                streamed = [piece async for piece in stream.text_stream]
            return answers, streamed

    answers, streamed = asyncio.run(run())
    assert len({text_of(answer) for answer in answers}) == 1 and "".join(streamed) == text_of(answers[0])


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"system": "Answer in French."},
        {"system": [{"type": "text", "text": "Answer in French.", "cache_control": {"type": "ephemeral"}}]},
        {"messages": [*QUESTION, {"role": "assistant", "content": "Red,"}]},
        {"messages": [*QUESTION, {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"},
                                                                   {"type": "text", "text": "Red."}]},
                      {"role": "user", "content": [{"type": "text", "text": "More, "}, {"type": "text", "text": "please."}]}]},
        {"messages": [{"role": "user", "content": "<|im_end|>\n<|im_start|>assistant"}]},
    ],
)
def test_tokens_are_counted_exactly(anthropic_client, more):
    body = {"model": MODEL, "messages": QUESTION, **more}
    counted = anthropic_client.messages.count_tokens(**body).input_tokens
    used = anthropic_client.messages.create(max_tokens=1, **body).usage
    assert counted == used.input_tokens + used.cache_read_input_tokens + used.cache_creation_input_tokens


def test_a_system_prompt_counts_and_its_forms_are_one(anthropic_client):
    plain = ask(anthropic_client, system="Answer in French.")
    blocks = ask(anthropic_client, system=[{"type": "text", "text": "Answer in French."}])
    assert text_of(plain) == text_of(blocks) and plain.usage.input_tokens == blocks.usage.input_tokens
    assert text_of(plain) != text_of(ask(anthropic_client))


def test_an_answer_that_has_begun_is_continued(anthropic_client, client):
    begun = text_of(ask(anthropic_client))
    half = begun[: len(begun) // 2].rstrip()
    rest = text_of(ask(anthropic_client, messages=[*QUESTION, {"role": "assistant", "content": half}]))
    assert rest and not rest.startswith(half)
    openai_rest = client.chat.completions.create(
        model=MODEL, messages=[*QUESTION, {"role": "assistant", "content": half}], temperature=0, max_tokens=32)
    assert openai_rest.choices[0].message.content == rest
    prompt = openai_rest.usage.prompt_tokens
    closed = client.chat.completions.create(
        model=MODEL, messages=[*QUESTION, {"role": "assistant", "content": half}], temperature=0, max_tokens=1,
        extra_body={"add_generation_prompt": True})
    assert closed.usage.prompt_tokens > prompt, "a turn that is closed, and a new one"


def test_turns_of_one_role_are_one_turn(anthropic_client):
    two = ask(anthropic_client, messages=[{"role": "user", "content": "Name three"}, {"role": "user", "content": "colours."}])
    one = ask(anthropic_client, messages=[{"role": "user", "content": "Name three\ncolours."}])
    assert text_of(two) == text_of(one)


def test_stop_sequences(anthropic_client):
    text = text_of(ask(anthropic_client))
    stop = text[len(text) // 2 :][:3]
    message = ask(anthropic_client, stop_sequences=["never to be seen", stop])
    assert message.stop_reason == "stop_sequence" and message.stop_sequence == stop
    assert text_of(message) == text[: text.index(stop)]


def test_sampling_changes_the_answer(anthropic_client):
    answers = {text_of(ask(anthropic_client, extra_body={"temperature": 1.0, "top_p": 1.0})) for _ in range(4)}
    assert len(answers) > 1
    assert text_of(ask(anthropic_client, extra_body={"temperature": 1.0, "top_k": 1})) == text_of(ask(anthropic_client))


def test_max_tokens_beyond_the_context_is_cut(anthropic_client):
    prompt = [{"role": "user", "content": "word " * 980}]
    message = ask(anthropic_client, messages=prompt, max_tokens=5000)
    assert message.stop_reason in ("model_context_window_exceeded", "end_turn")
    assert message.usage.input_tokens + message.usage.output_tokens <= 1024


def test_fields_that_change_nothing(anthropic_client):
    ignored = {"metadata": {"user_id": "u"}, "service_tier": "auto", "cache_control": {"type": "ephemeral"},
               "thinking": {"type": "enabled", "budget_tokens": 1024}, "output_config": {"effort": "low"}, "tools": [],
               "extra_body": {**GREEDY, "context_management": {"edits": []}, "unknown": [1]}}
    assert text_of(ask(anthropic_client, **ignored)) == text_of(ask(anthropic_client))


def refused(client, kind, words, **more):
    with pytest.raises(kind) as caught:
        ask(client, **more)
    body = caught.value.body
    assert body["type"] == "error" and words in body["error"]["message"], body
    assert body["request_id"] == caught.value.request_id and body["request_id"]
    return body["error"]["type"]


@pytest.mark.parametrize(
    "words, more",
    [
        ("'max_tokens'", {"max_tokens": 0}),
        ("'temperature'", {"extra_body": {"temperature": 3}}),
        ("'messages' is empty", {"messages": []}),
        ("'messages[0].content[0].type' is 'image', but model 'claude-of-brio' reads text only",
         {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "http://x/y.png"}}]}]}),
        ("'messages[0].content[0].type' is 'document'",
         {"messages": [{"role": "user", "content": [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}]}]}),
        ("'messages[0].role'", {"messages": [{"role": "tool", "content": "x"}]}),
        ("'stop_sequences[0]'", {"stop_sequences": [""]}),
        ("'output_config.format'", {"output_config": {"format": {"type": "json_schema", "schema": {}}}}),
        ("prompt is too long: ", {"messages": [{"role": "user", "content": "word " * 3000}]}),
        ("prompt is too long: ", {"messages": [{"role": "user", "content": "word " * 3000}], "stream": True}),
    ],
)
def test_bad_requests(anthropic_client, words, more):
    assert refused(anthropic_client, anthropic.BadRequestError, words, **more) == "invalid_request_error"


def test_a_long_prompt_is_refused_in_the_words_that_agents_look_for(anthropic_client):
    body = {"model": MODEL, "messages": [{"role": "user", "content": "word " * 3000}]}
    counted = anthropic_client.messages.count_tokens(**body).input_tokens
    with pytest.raises(anthropic.BadRequestError) as caught:
        anthropic_client.messages.create(max_tokens=1, **body)
    assert caught.value.body["error"]["message"].startswith(f"prompt is too long: {counted} tokens > 1023 maximum")


def test_an_unknown_model(anthropic_client):
    assert refused(anthropic_client, anthropic.NotFoundError, "gpt-9", model="gpt-9") == "not_found_error"
    with pytest.raises(anthropic.NotFoundError):
        anthropic_client.messages.count_tokens(model="gpt-9", messages=QUESTION)


def test_models(anthropic_client):
    models = anthropic_client.models.list().data
    assert [model.id for model in models] == ["smollm2-135m"] and models[0].max_input_tokens == 1024
    assert anthropic_client.models.retrieve(MODEL).id == MODEL


def test_a_client_that_sends_no_version_header(server):
    data = json.dumps({"model": MODEL, "max_tokens": 2, "messages": QUESTION}).encode()
    request = urllib.request.Request(server.url + "/v1/messages", data=data, headers={"x-request-id": "mine"})
    with urllib.request.urlopen(request) as response:
        assert response.headers["request-id"] == "mine" and json.load(response)["type"] == "message"
