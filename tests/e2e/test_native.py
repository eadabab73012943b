"""brio's own routes: what a text becomes, whether the server lives, which names it answers to."""

import json

QUESTION = [{"role": "user", "content": "Name three colours of the rainbow."}]
MODEL = "smollm2-135m"


def test_tokenize_and_back(server, client):
    text = "The capital of France is Paris — naïve café"
    status, answer = server.post("/tokenize", {"content": text})
    assert status == 200 and answer["count"] == len(answer["tokens"]) and answer["max_model_len"] == 1024
    assert server.post("/detokenize", {"tokens": answer["tokens"]})[1]["content"] == text
    used = client.completions.create(model=MODEL, prompt=text, max_tokens=1).usage.prompt_tokens
    assert server.post("/tokenize", {"prompt": text})[1]["count"] == used
    assert server.post("/tokenize", {"prompt": "x", "model": "gpt-9"})[0] == 404
    assert server.post("/detokenize", {"tokens": [10**6]})[1]["error"]["param"] == "tokens"


def test_a_conversation_as_text_and_as_tokens(server, client):
    used = client.chat.completions.create(model=MODEL, messages=QUESTION, max_tokens=1).usage.prompt_tokens
    assert server.post("/tokenize", {"messages": QUESTION})[1]["count"] == used
    prompt = server.post("/apply-template", {"messages": QUESTION})[1]["prompt"]
    assert QUESTION[0]["content"] in prompt and prompt.endswith("<|im_start|>assistant\n")
    begun = [*QUESTION, {"role": "assistant", "content": "Red, "}]
    assert server.post("/apply-template", {"messages": begun})[1]["prompt"] == prompt + "Red, ", "continued to the byte"
    again = client.completions.create(model=MODEL, prompt=prompt, max_tokens=8, temperature=0)
    chat = client.chat.completions.create(model=MODEL, messages=QUESTION, max_tokens=8, temperature=0)
    assert again.choices[0].text == chat.choices[0].message.content


def test_version_and_signs_of_life(server):
    version = json.loads(server.get("/version")[1])
    assert version["version"] and version["commit"]
    status, text = server.get("/live")
    assert status == 200 and json.loads(text)["status"] == "alive"


def test_names_and_patterns(server):
    listed = json.loads(server.get("/v1/models")[1])["data"]
    assert [model["id"] for model in listed] == [MODEL] and listed[0]["context_length"] == 1024
    assert json.loads(server.get("/v1/models/claude-x")[1])["id"] == "claude-x"
    assert server.get("/v1/models/claud")[0] == 404
    answer = server.post("/v1/chat/completions", {"model": "claude-x", "messages": QUESTION, "max_tokens": 1})[1]
    assert answer["model"] == "claude-x"


def test_an_image_names_the_model(server):
    parts = [{"type": "image_url", "image_url": {"url": "x"}}]
    status, answer = server.post("/v1/chat/completions", {"model": MODEL, "messages": [{"role": "user", "content": parts}]})
    assert status == 400 and f"model '{MODEL}'" in answer["error"]["message"]
