"""The JSON-Schema-Test-Suite: each valid instance can be written, each invalid one cannot, or the schema is refused by
the name of something in it."""

import json
import re

import jsonschema
import pytest

from checker import FULL, layouts, schema_suite

# Files whose subject is an annotation, or another document.
NOT_OURS = {"format.json", "vocabulary.json", "refRemote.json", "content.json"}
FORMATS = ["date.json", "time.json", "date-time.json", "uuid.json", "email.json", "ipv4.json", "ipv6.json"]
# What string_formats.h says that it leaves out.
LEFT_OUT = re.compile(r"leap second|quoted string|quoted-string|address-literal|IPv[46]-address|IP-literal|IPv6 literal", re.I)


def one_of_as_any_of(schema):
    if isinstance(schema, dict):
        return {"anyOf" if key == "oneOf" else key: one_of_as_any_of(value) for key, value in schema.items()}
    if isinstance(schema, list):
        return [one_of_as_any_of(item) for item in schema]
    return schema


def check_group(check, group, samples):
    """None if the schema is refused; else what is wrong, if anything."""
    schema = group["schema"]
    text = json.dumps(schema)
    instances = group["tests"]
    if '"oneOf"' in text:
        validator = jsonschema.Draft202012Validator(one_of_as_any_of(schema))
        instances = [{**test, "valid": validator.is_valid(test["data"])} for test in instances]
    written = [layouts(schema, test["data"]) for test in instances]
    answer = check("json_schema", text, texts=[one for texts in written for one in texts], samples=samples, max_tokens=80)
    if "error" in answer:
        message = answer["error"]
        if "cannot be matched by any text" in message:
            return [f"refused as never valid: {test}" for test in instances if test["valid"]]
        quoted = re.findall(r"'([^']*)'", message)
        named = any(json.dumps(word)[1:-1] in text for word in quoted) or "references and branches" in message
        return None if answer["code"] == "unsupported" and named else [f"refused without a name: {message}"]
    wrong = []
    for test, texts in zip(instances, written):
        results = [answer["results"].pop(0) for _ in texts]
        if test["valid"] and any(result != "ok" for result in results):
            wrong.append(f"valid but {results}: {test}")
        if not test["valid"] and any(result == "ok" for result in results):
            wrong.append(f"invalid but let through: {test}")
    validator = jsonschema.Draft202012Validator(one_of_as_any_of(schema))
    for sample in answer["samples"]:
        if not validator.is_valid(json.loads(sample)):
            wrong.append(f"written but invalid: {sample}")
    return wrong


def test_the_suite(check):
    wrong, refused, taken = [], [], 0
    for name, groups in schema_suite("draft2020-12"):
        if name in NOT_OURS:
            continue
        for group in groups:
            found = check_group(check, group, 20 if FULL else 2)
            if found is None:
                refused.append(f"{name}: {group['description']}")
                continue
            taken += 1
            wrong += [f"{name}, {group['description']}: {what}" for what in found]
    assert not wrong, "\n".join(wrong)
    assert taken > 120, f"only {taken} schemas were taken; refused: {refused}"


def test_a_wrong_verdict_would_be_found(check):
    group = {"schema": {"type": "integer", "maximum": 3}, "tests": [{"data": 4, "valid": True}, {"data": 2, "valid": False}]}
    assert len(check_group(check, group, 0)) == 2


@pytest.mark.parametrize("name", FORMATS)
def test_formats(check, name):
    groups = dict(schema_suite("draft2020-12/optional/format"))[name]
    wrong, tested = [], 0
    for group in groups:
        tests = [test for test in group["tests"] if not LEFT_OUT.search(test["description"])]
        found = check_group(check, {**group, "tests": tests}, 5)
        assert found is not None
        wrong += found
        tested += len(tests)
    assert not wrong, "\n".join(wrong)
    assert tested > 10

