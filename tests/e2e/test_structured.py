"""Output held to a format: whatever the model would rather say."""

import json
import re

import openai
import pytest
from pydantic import BaseModel

MODEL = "smollm2-135m"
QUESTION = [{"role": "user", "content": "Describe a person named Ann who is 31 years old and likes red."}]


class Person(BaseModel):
    name: str
    age: int
    colours: list[str]


def ask(client, **more):
    return client.chat.completions.create(**{"model": MODEL, "messages": QUESTION, "temperature": 0, "max_tokens": 200, **more})


def test_parse_gives_the_class(client):
    answer = client.chat.completions.parse(model=MODEL, messages=QUESTION, temperature=0, max_tokens=300, response_format=Person,
                                           extra_body={"repetition_penalty": 1.3})
    assert answer.choices[0].finish_reason == "stop"
    assert isinstance(answer.choices[0].message.parsed, Person)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_choice_is_valid_or_cut(client, seed):
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3, "maximum": 12}, "kind": {"enum": ["a", "b"]},
                                               "text": {"type": "string", "maxLength": 20}},
              "required": ["n", "kind", "text"], "additionalProperties": False}
    answer = ask(client, temperature=1.5, seed=seed, n=4, max_tokens=80,
                 response_format={"type": "json_schema", "json_schema": {"name": "thing", "strict": True, "schema": schema}})
    for choice in answer.choices:
        if choice.finish_reason == "stop":
            value = json.loads(choice.message.content)
            assert 3 <= value["n"] <= 12 and value["kind"] in "ab" and len(value["text"]) <= 20 and len(value) == 3
        else:
            assert choice.finish_reason == "length"
    assert any(choice.finish_reason == "stop" for choice in answer.choices)


def test_json_object(client):
    answer = ask(client, response_format={"type": "json_object"}, max_tokens=60)
    text = answer.choices[0].message.content
    assert text.startswith("{")
    if answer.choices[0].finish_reason == "stop":
        assert isinstance(json.loads(text), dict)


def test_streamed_is_whole(client):
    more = {"extra_body": {"guided_regex": "[A-Z][a-z]{2,9}( [a-z]{2,9}){3}\\."}}
    whole = ask(client, **more).choices[0].message.content
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in ask(client, stream=True, **more))
    assert whole == streamed
    assert re.fullmatch("[A-Z][a-z]{2,9}( [a-z]{2,9}){3}\\.", whole)


def test_choices_and_grammars(client):
    words = ["blue", "red", "no idea"]
    assert ask(client, extra_body={"guided_choice": words}).choices[0].message.content in words
    text = ask(client, extra_body={"grammar": 'root ::= "<" [a-c]{3} ">"'}).choices[0].message.content
    assert re.fullmatch("<[a-c]{3}>", text)
    text = client.completions.create(model=MODEL, prompt="1, 2, ", max_tokens=9, temperature=0,
                                     extra_body={"structured_outputs": {"regex": "(\\d, ){2}!"}}).choices[0].text
    assert re.fullmatch("(\\d, ){2}!", text)


@pytest.mark.parametrize("fields, param, words", [
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"not": {}}}}},
     "response_format.json_schema.schema", "keyword 'not'"),
    ({"guided_regex": "a(?=b)"}, "guided_regex", "look-ahead"),
    ({"guided_regex": "(a|b)*a(a|b){40}"}, "guided_regex", "states"),
    ({"grammar": "root ::= root"}, "grammar", "root"),
    ({"guided_choice": []}, "guided_choice", "empty"),
    ({"guided_choice": ["a"], "guided_regex": "a"}, "guided_choice", "beside"),
    ({"guided_regex": "a", "ignore_eos": True}, "ignore_eos", "grammar"),
])
def test_what_cannot_be_followed_is_named(client, fields, param, words):
    with pytest.raises(openai.BadRequestError) as refused:
        ask(client, extra_body=fields)
    assert refused.value.param == param
    assert words in refused.value.message
