"""Tool calls and reasoning come back as the family's own template wrote them. jinja2 renders an assistant's message; what
it puts behind the prompt is taken for the model's output, cut at every byte and parsed; the same message has to come out."""
import json
import os
import pathlib
import random
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BRIO_BINARY", REPOSITORY / "build" / "brio")).parent
sys.path.insert(0, str(REPOSITORY / "tools"))

from template_oracle import environment  # noqa: E402

GOLDEN = REPOSITORY / "tests" / "golden" / "templates" / "families"
OWN = pathlib.Path(__file__).parent / "templates"
END = "<|end of the answer|>"
MESSAGES = 1000
CUT_EVERYWHERE = 200  # of them; the others are cut into bytes

# template, tool format, reasoning format, how many calls at most, whether text may stand beside them
FAMILIES = {
    "qwen25": (GOLDEN, "hermes", "", 4, True),
    "qwen3": (GOLDEN, "hermes", "think", 4, True),
    "hermes_tools": (GOLDEN, "hermes", "", 4, False),
    "llama31": (GOLDEN, "llama3", "", 1, False),
    "llama32": (GOLDEN, "llama3", "", 1, False),
    "mistral_v3": (GOLDEN, "mistral", "", 4, False),
    "mistral_v7": (GOLDEN, "mistral", "", 4, False),
    "mistral_v13": (OWN, "mistral", "mistral", 4, True),
    "deepseek_v3": (GOLDEN, "deepseek", "", 4, True),
    "deepseek_v31": (OWN, "deepseek", "think", 4, True),
    "deepseek_r1": (OWN, "deepseek", "think", 4, True),
    "gemma": (OWN, "json", "", 4, True),
}
ENDS = ["<|im_end|>\n", "<|im_end|>", "<|eot_id|>", "<｜end▁of▁sentence｜>", END]
MARKERS = ["</tool_call>", "\n</tool_call>\n<tool_call>\n", "[TOOL_CALLS]", "[ARGS]", "]", "}", '"}', "\\", '"', "```", "\n```\n",
           "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>", "<|python_tag|>", "</think>", "{\"name\": \"f\", \"arguments\": {}}", "; "]
TEXTS = ["", " ", "\n", "\t", "\r\n", "a", "Köln", "日本語", "🙂", "e\u0301", "\u2028", "\u0000", "\u001b", "\u007f", "<", "/", "word " * 9]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def string(self):
        return "".join(self.random.choice(self.random.choice([MARKERS, TEXTS, TEXTS])) for _ in range(self.random.randrange(5)))

    def value(self, depth):
        kind = self.random.randrange(8 if depth > 0 else 6)
        if kind == 6:
            return [self.value(depth - 1) for _ in range(self.random.randrange(4))]
        if kind == 7:
            return self.object(depth - 1)
        return [self.string(), self.random.randrange(-10**6, 10**20), self.random.uniform(-1e9, 1e-9), True, None, self.string()][kind]

    def object(self, depth=3):
        return {self.string() or f"key{i}": self.value(depth) for i in range(self.random.randrange(4))}

    def words(self):
        """Text without markers and without white space around it."""
        return " ".join(self.random.choice(["It is", "7 < 8", "[1]", "{a}", "Grüße", "🙂", "`x`", "the\nend", "x\n\n y"])
                        for _ in range(self.random.randrange(1, 6)))

    def message(self, max_calls, beside, reasons):
        calls = [{"id": f"abcdefgh{i}", "type": "function",
                  "function": {"name": self.random.choice(["f", "get_weather", "a-b.c_D9"]), "arguments": self.object()}}
                 for i in range(self.random.randrange(max_calls + 1))]
        message = {"role": "assistant", "content": self.words() if not calls or (beside and self.random.random() < 0.5) else ""}
        if calls:
            message["tool_calls"] = calls
        if reasons:
            message["reasoning_content"] = self.words()
        return message


def output_of(template, message):
    """What the template writes for the message behind the prompt that asks for it, and whether it opened the reasoning."""
    tools = [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}}]
    context = {"bos_token": "", "eos_token": END, "tools": tools, "messages": [{"role": "user", "content": "Hi"}]}
    prompt = template.render(**context, add_generation_prompt=True)
    text = template.render(**{**context, "messages": context["messages"] + [message]}, add_generation_prompt=False)
    assert text.startswith(prompt), (prompt, text)
    text = text[len(prompt):]
    end = next(end for end in ENDS if text.endswith(end))
    return text[:-len(end)], prompt.rstrip().endswith("<think>")


def parse(lines):
    program = BUILD / "parse_output"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    done = subprocess.run([program], input="".join(json.dumps(line) + "\n" for line in lines), capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]


def check(template, tools, reasoning, messages):
    outputs = [output_of(template, message) for message in messages]
    answers = parse([{"text": text, "tools": tools, "reasoning": reasoning, "open": opened, "every_cut": i < CUT_EVERYWHERE,
                      "offered": ["f", "get_weather", "a-b.c_D9"]} for i, (text, opened) in enumerate(outputs)])
    assert len(answers) == len(messages)
    for message, (text, _), answer in zip(messages, outputs, answers):
        assert "error" not in answer, (answer, text)
        calls = message.get("tool_calls", [])
        assert answer["content"] == message["content"] or (not calls and answer["content"] == text), text  # " " in front
        assert answer["reasoning"] == message.get("reasoning_content", ""), text
        assert [call["name"] for call in answer["calls"]] == [call["function"]["name"] for call in calls], text
        for call, parsed in zip(calls, answer["calls"]):
            read = json.loads(parsed["arguments"])
            assert read == call["function"]["arguments"] and list(read) == list(call["function"]["arguments"]), text


@pytest.mark.parametrize("family", FAMILIES)
def test_what_a_template_writes_is_read_back(family):
    folder, tools, reasoning, max_calls, beside = FAMILIES[family]
    source = (folder / f"{family}.jinja").read_text()
    generator = Generator(family)
    reasons = "reasoning_content" in source
    check(environment().from_string(source), tools, reasoning, [generator.message(max_calls, beside, reasons) for _ in range(MESSAGES)])


def test_qwens_own_template():
    gguf = pytest.importorskip("gguf")
    path = pathlib.Path(os.environ.get("BRIO_MODELS", "")) / "qwen2.5-coder-0.5b.gguf"
    if not path.is_file():
        pytest.skip("qwen2.5-coder-0.5b.gguf is not in $BRIO_MODELS")
    field = gguf.GGUFReader(path).fields["tokenizer.chat_template"]
    source = bytes(field.parts[field.data[0]]).decode()
    generator = Generator("qwen")
    check(environment().from_string(source), "hermes", "", [generator.message(4, True, False) for _ in range(MESSAGES)])
