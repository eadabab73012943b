"""Tool calls and reasoning with the official client, against scripted answers of a model (tests/scripted)."""
import json

import anthropic
import ollama
import openai
import pytest

from brio_server import BINARY, BrioServer

CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Köln", "days": [1, 2]}}\n</tool_call>'
TOOLS = [{"type": "function", "function": {"name": name, "description": "d", "parameters": {"type": "object", "properties": {}}}}
         for name in ("weather", "now")]
SCRIPT = {
    "tool_parser": "hermes",
    "reasoning_parser": "think",
    "answers": [
        {"when": "two calls", "text": f"Let me see.\n{CALL}\n" + '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'},
        {"when": "thinking", "text": "<think>\nHm, 7 < 8.\n</think>\n\nYes.", "token_characters": 3},
        {"when": "result", "text": "It rains."},
        {"when": "broken", "text": "<tool_call>\n{'name': 'weather'}\n</tool_call>"},
        {"when": "", "text": CALL, "token_characters": 1},
    ],
}


@pytest.fixture(scope="module")
def scripted(tmp_path_factory):
    program = BINARY.parent / "brio_scripted"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    script = tmp_path_factory.mktemp("script") / "script.json"
    script.write_text(json.dumps(SCRIPT))
    server = BrioServer(script, binary=program)
    server.wait_ready()
    yield openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0, timeout=60)
    server.terminate()
    try:
        assert server.wait(60) == 0
    finally:
        server.kill()


def ask(client, content, **more):
    more = {"tools": TOOLS, **more}
    return client.chat.completions.create(model="scripted", messages=[{"role": "user", "content": content}], **more)


def streamed(client, content, **more):
    """What a client puts together from the chunks: message, finish reason, usage; and the deltas."""
    message = {"content": "", "reasoning_content": "", "tool_calls": []}
    finish, usage, deltas = None, None, []
    for chunk in ask(client, content, stream=True, stream_options={"include_usage": True}, **more):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            assert finish is None
            finish = choice.finish_reason
            delta = choice.delta
            deltas.append(delta)
            message["content"] += delta.content or ""
            message["reasoning_content"] += (delta.model_extra or {}).get("reasoning_content") or ""
            for call in delta.tool_calls or []:
                if call.index == len(message["tool_calls"]):
                    assert call.type == "function"
                    message["tool_calls"].append({"id": call.id, "name": call.function.name, "arguments": call.function.arguments})
                else:
                    assert call.index == len(message["tool_calls"]) - 1
                    assert call.id is None and call.function.name is None and call.type is None
                    message["tool_calls"][-1]["arguments"] += call.function.arguments
    return message, finish, usage, deltas


def test_calls_whole_and_streamed(scripted):
    whole = ask(scripted, "two calls")
    choice = whole.choices[0]
    assert choice.finish_reason == "tool_calls" and choice.message.content == "Let me see."
    calls = choice.message.tool_calls
    assert [(call.type, call.function.name, json.loads(call.function.arguments)) for call in calls] == [
        ("function", "weather", {"city": "Köln", "days": [1, 2]}), ("function", "now", {})]
    assert len({call.id for call in calls}) == 2
    message, finish, usage, _ = streamed(scripted, "two calls")
    assert finish == "tool_calls" and usage == whole.usage and message["content"] == "Let me see."
    assert [(call["name"], call["arguments"]) for call in message["tool_calls"]] == [
        (call.function.name, call.function.arguments) for call in calls]


def test_a_call_alone_has_null_content_and_streams_its_arguments(scripted):
    assert ask(scripted, "x").choices[0].message.content is None
    message, finish, _, deltas = streamed(scripted, "x")
    assert finish == "tool_calls" and message["content"] == ""
    arguments = json.dumps({"city": "Köln", "days": [1, 2]}, ensure_ascii=False)
    assert message["tool_calls"][0]["arguments"] == arguments
    pieces = [delta.tool_calls[0].function.arguments for delta in deltas if delta.tool_calls]
    assert pieces == ["", *arguments], "one delta per token"


def test_the_turn_after_a_call(scripted):
    first = ask(scripted, "x").choices[0].message
    messages = [{"role": "user", "content": "x"}, first.model_dump(exclude_none=True),
                {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "the result"}]
    answer = scripted.chat.completions.create(model="scripted", messages=messages, tools=TOOLS)
    assert answer.choices[0].message.content == "It rains." and answer.choices[0].finish_reason == "stop"
    messages[1] = {"role": "assistant", "content": None, "tool_calls": messages[1]["tool_calls"]}
    assert scripted.chat.completions.create(model="scripted", messages=messages, tools=TOOLS).choices[0].message.content == "It rains."


def test_without_tools_and_with_tool_choice_none_text_stays_text(scripted):
    for more in ({"tools": openai.NOT_GIVEN}, {"tool_choice": "none"}):
        choice = ask(scripted, "x", **more).choices[0]
        assert choice.message.content == CALL and choice.message.tool_calls is None and choice.finish_reason == "stop"


def test_max_tokens_within_a_call(scripted):
    cut = CALL.index('"Köln"')
    choice = ask(scripted, "x", max_tokens=cut).choices[0]
    assert choice.finish_reason == "length"
    assert choice.message.tool_calls[0].function.arguments == '{"city": '
    message, finish, _, _ = streamed(scripted, "x", max_tokens=cut)
    assert finish == "length" and message["tool_calls"][0]["arguments"] == '{"city": '


def test_a_malformed_call_is_text(scripted):
    choice = ask(scripted, "broken").choices[0]
    assert choice.message.content == SCRIPT["answers"][3]["text"] and choice.finish_reason == "stop"


def test_parallel_tool_calls_false_leaves_one(scripted):
    calls = ask(scripted, "two calls", parallel_tool_calls=False).choices[0].message.tool_calls
    assert [call.function.name for call in calls] == ["weather"]


def test_choices_have_calls_of_their_own(scripted):
    choices = ask(scripted, "x", n=3).choices
    assert len({choice.message.tool_calls[0].id for choice in choices}) == 3
    assert {choice.finish_reason for choice in choices} == {"tool_calls"}


def test_reasoning(scripted):
    whole = ask(scripted, "thinking")
    message = whole.choices[0].message
    assert message.content == "Yes." and message.model_extra["reasoning_content"] == "Hm, 7 < 8."
    assert 0 < whole.usage.completion_tokens_details.reasoning_tokens < whole.usage.completion_tokens
    message, finish, usage, _ = streamed(scripted, "thinking")
    assert message["reasoning_content"] == "Hm, 7 < 8." and message["content"] == "Yes."
    assert finish == "stop" and usage == whole.usage


@pytest.mark.parametrize("more, param", [
    ({"tool_choice": "required"}, "tool_choice"),
    ({"tool_choice": {"type": "function", "function": {"name": "now"}}}, "tool_choice"),
    ({"tool_choice": {"type": "function", "function": {"name": "other"}}}, "tool_choice.function.name"),
    ({"tool_choice": "sometimes"}, "tool_choice"),
    ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function.name"),
    ({"tools": [{"type": "function", "function": {"name": "f", "strict": True}}]}, "tools[0].function.strict"),
    ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
])
def test_what_is_refused(scripted, more, param):
    with pytest.raises(openai.BadRequestError) as caught:
        ask(scripted, "x", **more)
    assert caught.value.param == param and caught.value.code in ("invalid_argument", "unsupported")


def test_anthropic_gets_blocks(scripted):
    client = anthropic.Anthropic(base_url=str(scripted.base_url).removesuffix("/v1/"), api_key="none", max_retries=0)
    tools = [{"name": name, "description": "d", "input_schema": {"type": "object", "properties": {}}} for name in ("weather", "now")]
    for content, kinds in (("two calls", ["text", "tool_use", "tool_use"]), ("thinking", ["thinking", "text"]), ("x", ["tool_use"])):
        body = {"model": "scripted", "max_tokens": 500, "tools": tools, "messages": [{"role": "user", "content": content}]}
        message = client.messages.create(**body)
        assert [block.type for block in message.content] == kinds
        assert message.stop_reason == ("tool_use" if "tool_use" in kinds else "end_turn")
        for block in message.content:
            if block.type == "tool_use" and block.name == "weather":
                assert block.input == {"city": "Köln", "days": [1, 2]} and block.id
        with client.messages.stream(**body) as stream:
            final = stream.get_final_message()
        without_ids = [block.model_dump(exclude={"id"}) for block in message.content]
        assert [block.model_dump(exclude={"id"}) for block in final.content] == without_ids
        assert final.stop_reason == message.stop_reason
    call = next(block for block in client.messages.create(**body).content if block.type == "tool_use")
    turns = [*body["messages"], {"role": "assistant", "content": [call.model_dump()]},
             {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "result"}]}]
    assert client.messages.create(**{**body, "messages": turns}).content[0].text == "It rains."


def test_ollama_gets_whole_calls(scripted):
    client = ollama.Client(host=str(scripted.base_url).removesuffix("/v1/"))
    body = {"model": "scripted", "messages": [{"role": "user", "content": "two calls"}], "tools": TOOLS}
    message = client.chat(**body).message
    calls = [(call.function.name, dict(call.function.arguments)) for call in message.tool_calls]
    assert calls == [("weather", {"city": "Köln", "days": [1, 2]}), ("now", {})]
    parts = list(client.chat(**body, stream=True))
    streamed = [call for part in parts for call in part.message.tool_calls or []]
    assert [(call.function.name, dict(call.function.arguments)) for call in streamed] == calls
    assert "".join(part.message.content for part in parts).strip() == (message.content or "").strip()
    thought = client.chat("scripted", messages=[{"role": "user", "content": "thinking"}]).message
    assert "7 < 8" in thought.thinking and thought.content.strip() == "Yes."
    assert "tools" in client.show("scripted").capabilities
