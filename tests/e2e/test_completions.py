"""/v1/completions with the official client."""

MODEL = "smollm2-135m"
PROMPT = "The capital of France is"


def complete(client, **more):
    more = {"model": MODEL, "prompt": PROMPT, "temperature": 0, "max_tokens": 12, **more}
    return client.completions.create(**more)


def test_a_streamed_answer_is_the_whole_answer(client):
    whole = complete(client)
    assert whole.object == "text_completion" and whole.usage.completion_tokens == 12
    streamed = "".join(chunk.choices[0].text for chunk in complete(client, stream=True) if chunk.choices)
    assert streamed == whole.choices[0].text


def test_several_prompts_are_several_choices(client):
    prompts = [PROMPT, "One, two, three,"]
    solo = [complete(client, prompt=prompt).choices[0].text for prompt in prompts]
    both = complete(client, prompt=prompts)
    assert [choice.text for choice in both.choices] == solo
    assert [choice.index for choice in both.choices] == [0, 1]
    assert both.usage.completion_tokens == 24
    twice = complete(client, prompt=prompts, n=2)
    assert [choice.text for choice in twice.choices] == [solo[0], solo[0], solo[1], solo[1]]


def test_echo_and_logprobs(client):
    plain = complete(client).choices[0].text
    assert complete(client, echo=True).choices[0].text == PROMPT + plain
    scored = complete(client, echo=True, logprobs=2).choices[0]
    assert scored.text == PROMPT + plain
    logprobs = scored.logprobs
    assert "".join(logprobs.tokens) == scored.text
    assert logprobs.token_logprobs[0] is None and all(value <= 0 for value in logprobs.token_logprobs[1:])
    assert [scored.text[at:].startswith(token) for at, token in zip(logprobs.text_offset, logprobs.tokens)] == [True] * len(logprobs.tokens)
    assert all(2 <= len(top) <= 3 for top in logprobs.top_logprobs[1:])


def test_scoring_without_generating(client):
    scored = complete(client, echo=True, logprobs=0, max_tokens=0).choices[0]
    assert scored.text == PROMPT and "".join(scored.logprobs.tokens) == PROMPT


def test_token_ids_as_prompt(client):
    by_ids = complete(client, prompt=[504, 3575, 282, 4649, 314])
    assert by_ids.usage.prompt_tokens == 5 and by_ids.choices[0].text
    assert complete(client, prompt=[[504, 3575], [282]]).usage.prompt_tokens == 3
