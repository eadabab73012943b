"""/api/... with the official client."""

import asyncio
import json

import ollama
import pytest

MODEL = "smollm2-135m"
QUESTION = [{"role": "user", "content": "Name three colours of the rainbow."}]
GREEDY = {"temperature": 0, "num_predict": 24}


def ask(client, **more):
    return client.chat(**{"model": MODEL, "messages": QUESTION, "options": GREEDY, **more})


def test_a_chat_and_its_numbers(ollama_client, client):
    answer = ask(ollama_client)
    assert answer.done and answer.done_reason == "length" and answer.message.role == "assistant"
    assert answer.model == MODEL
    same = client.chat.completions.create(model=MODEL, messages=QUESTION, temperature=0, max_tokens=24)
    assert answer.message.content == same.choices[0].message.content, "one request, two dialects"
    assert (answer.prompt_eval_count, answer.eval_count) == (same.usage.prompt_tokens, 24)
    assert answer.load_duration == 0
    assert 0 < answer.prompt_eval_duration <= answer.total_duration and 0 < answer.eval_duration <= answer.total_duration


def test_a_stream_adds_up_to_the_answer(ollama_client):
    parts = list(ask(ollama_client, stream=True))
    assert all(not part.done for part in parts[:-1]) and parts[-1].done and parts[-1].eval_count == 24
    assert len(parts) > 2
    assert "".join(part.message.content for part in parts) == ask(ollama_client).message.content


def test_async(server):
    async def run():
        client = ollama.AsyncClient(host=server.url)
        answers = await asyncio.gather(*(ask(client) for _ in range(3)))
        streamed = [part.message.content async for part in await ask(client, stream=True)]
        return answers, streamed

    answers, streamed = asyncio.run(run())
    assert len({answer.message.content for answer in answers}) == 1
    assert "".join(streamed) == answers[0].message.content


def test_generate_is_a_chat_of_one_turn(ollama_client):
    prompt = QUESTION[0]["content"]
    answer = ollama_client.generate(MODEL, prompt, options=GREEDY)
    assert answer.response == ask(ollama_client).message.content
    assert "".join(part.response for part in ollama_client.generate(MODEL, prompt, options=GREEDY, stream=True)) == answer.response
    system = ollama_client.generate(MODEL, prompt, system="Answer in French.", options=GREEDY)
    assert system.response == ask(ollama_client, messages=[{"role": "system", "content": "Answer in French."}, *QUESTION]).message.content


def test_raw_is_the_text_alone(ollama_client, client):
    raw = ollama_client.generate(MODEL, "The capital of France is", raw=True, options=GREEDY)
    plain = client.completions.create(model=MODEL, prompt="The capital of France is", temperature=0, max_tokens=24)
    assert raw.response == plain.choices[0].text and raw.prompt_eval_count == plain.usage.prompt_tokens


@pytest.mark.parametrize("name", [MODEL, MODEL + ":latest", "claude-x"])
def test_nothing_to_answer_means_load(ollama_client, name):
    assert ollama_client.generate(name).done_reason == "load"
    assert ollama_client.generate(name, keep_alive="5m").done_reason == "load"
    assert ollama_client.chat(name, keep_alive=-1).done_reason == "load"


def test_options(ollama_client, client):
    sampled = {"temperature": 0.9, "top_k": 30, "top_p": 0.8, "min_p": 0.02, "repeat_penalty": 1.1, "presence_penalty": 0.2,
               "frequency_penalty": 0.1, "seed": 5, "num_predict": 16, "num_ctx": 4096, "num_thread": 2}
    answer = ask(ollama_client, options=sampled)
    same = client.chat.completions.create(
        model=MODEL, messages=QUESTION, temperature=0.9, top_p=0.8, presence_penalty=0.2, frequency_penalty=0.1, seed=5,
        max_tokens=16, extra_body={"top_k": 30, "min_p": 0.02, "repetition_penalty": 1.1})
    assert answer.message.content == same.choices[0].message.content
    text = ask(ollama_client).message.content
    stop = text[len(text) // 2 :][:3]
    stopped = ask(ollama_client, options={**GREEDY, "stop": [stop]})
    assert stopped.message.content == text[: text.index(stop)] and stopped.done_reason == "stop"


def test_an_answer_that_has_begun_is_continued(ollama_client):
    text = ask(ollama_client).message.content
    half = text[: len(text) // 2].rstrip()
    rest = ask(ollama_client, messages=[*QUESTION, {"role": "assistant", "content": half}]).message.content
    assert rest and not rest.startswith(half)


def test_logprobs(ollama_client):
    answer = ask(ollama_client, logprobs=True, top_logprobs=2)
    assert "".join(entry.token for entry in answer.logprobs) == answer.message.content
    assert all(len(entry.top_logprobs) == 2 and entry.top_logprobs[0].token == entry.token for entry in answer.logprobs)


def test_thinking_is_accepted_both_ways(ollama_client):
    history = [*QUESTION, {"role": "assistant", "content": "Red.", "thinking": "hm"}, {"role": "user", "content": "More."}]
    assert ask(ollama_client, messages=history, think=False).message.content


def test_models(ollama_client, server):
    models = ollama_client.list().models
    assert [model.model for model in models] == [MODEL + ":latest"]
    assert models[0].details.family == "llama" and models[0].details.format == "gguf" and models[0].size > 1e6
    assert len(models[0].digest) == 64
    shown = ollama_client.show(MODEL)
    assert shown.modelinfo["llama.context_length"] == 1024 and shown.modelinfo["general.architecture"] == "llama"
    assert shown.modelinfo["general.parameter_count"] == pytest.approx(134.5e6, rel=0.01)
    assert "completion" in shown.capabilities and "messages" in shown.template
    running = ollama_client.ps().models
    assert running[0].context_length == 1024 and running[0].expires_at.year > 2100
    assert server.request("HEAD", "/")[0] == 200 and "Ollama is running" in server.get("/")[1]
    assert json.loads(server.get("/api/version")[1])["version"]


def refused(call, status, words):
    with pytest.raises(ollama.ResponseError) as caught:
        call()
    assert caught.value.status_code == status and words in caught.value.error, caught.value


def test_bad_requests(ollama_client, server):
    long = [{"role": "user", "content": "word " * 3000}]
    refused(lambda: ask(ollama_client, model="gpt-9"), 404, "'gpt-9' not found")
    refused(lambda: ask(ollama_client, messages=long), 400, "prompt is too long")
    refused(lambda: list(ask(ollama_client, messages=long, stream=True)), 400, "prompt is too long")
    refused(lambda: ask(ollama_client, options={"temperature": 9}), 400, "'options.temperature'")
    refused(lambda: ask(ollama_client, options={"mirostat": 1}), 400, "'options.mirostat'")
    refused(lambda: ask(ollama_client, messages=[{"role": "user", "content": "x", "images": [b"x"]}]), 400, "'messages[0].images'")
    refused(lambda: ollama_client.generate(MODEL, "x", suffix="y"), 400, "'suffix'")
    refused(lambda: ollama_client.generate(MODEL, "x", template="{{ .Prompt }}"), 400, "'template'")
    refused(lambda: ollama_client.generate(MODEL, "x", context=[1]), 400, "'context'")
    refused(lambda: ollama_client.show("gpt-9"), 404, "not found")
    refused(lambda: ollama_client.pull("x"), 400, "/api/pull")
    refused(lambda: list(ollama_client.pull("x", stream=True)), 400, "/api/pull")
    refused(lambda: ollama_client.push("x"), 400, "/api/push")
    refused(lambda: ollama_client.create("x", from_="y"), 400, "/api/create")
    refused(lambda: ollama_client.copy("x", "y"), 400, "/api/copy")
    refused(lambda: ollama_client.delete("x"), 400, "/api/delete")
    refused(lambda: ollama_client.embed(MODEL, "x"), 400, "embeddings")
    for body in ({"messages": QUESTION, "format": "json"}, {"messages": QUESTION, "keep_alive": []}):
        status, answer = server.post("/api/chat", body)
        assert status == 400 and list(answer) == ["error"]
