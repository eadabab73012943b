"""Each row of docs/api.md that has an example keeps its word."""

import json
import re

import pytest

from brio_server import REPOSITORY

MODEL = "smollm2-135m"
QUESTION = [{"role": "user", "content": "Name three colours of the rainbow."}]
BASES = {
    "/v1/chat/completions": {"model": MODEL, "messages": QUESTION, "max_tokens": 8, "temperature": 0},
    "/v1/completions": {"model": MODEL, "prompt": "The sky is", "max_tokens": 8, "temperature": 0},
    "/v1/messages": {"model": MODEL, "messages": QUESTION, "max_tokens": 8, "temperature": 0},
    "/api/chat": {"model": MODEL, "messages": QUESTION, "stream": False, "options": {"temperature": 0, "num_predict": 8}},
}
CHANGING = {"id", "created", "timings", "created_at", "total_duration", "prompt_eval_duration", "eval_duration", "request_id"}


def rows():
    path = None
    for line in (REPOSITORY / "docs" / "api.md").read_text().splitlines():
        if line.startswith("## "):
            found = re.search(r"POST (\S+)", line)
            path = found.group(1) if found else None
        row = re.match(r"\| (.+?) \| (supported|ignored|refused) \| `(.+)` \|", line)
        if row and path:
            yield pytest.param(path, row.group(2), row.group(3), id=f"{path}: {row.group(1)}")


def answer(server, path, more):
    status, body = server.post(path, {**BASES[path], **more})
    return status, {key: value for key, value in body.items() if key not in CHANGING}


@pytest.fixture(scope="module")
def plain(server):
    return {path: answer(server, path, {}) for path in BASES}


@pytest.mark.parametrize("path, word, example", list(rows()))
def test_a_row_keeps_its_word(server, plain, path, word, example):
    status, body = answer(server, path, json.loads("{" + example + "}"))
    if word == "refused":
        assert status == 400 and "error" in body
        assert example.split('"')[1] in json.dumps(body["error"]), "the field is named"
    elif word == "ignored":
        assert (status, body) == plain[path]
    else:
        assert status == 200, body
        assert body != plain[path][1]


def test_there_are_rows_for_every_dialect():
    tested = [row.values[0] for row in rows()]
    assert set(tested) == set(BASES) and len(tested) > 40
