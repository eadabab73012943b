"""Random schemas of everything that brio supports: instances that hypothesis-jsonschema finds for them can be written,
what the masks let through is valid, instances of other schemas are let through exactly where they are valid too."""

import json

import jsonschema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis_jsonschema import from_schema

from checker import FULL, canonical

NAMES = ["a", "b", "foo", "x y", "\u00e9"]
SMALL = st.integers(0, 3)


def some(draw, schema, keyword, values):
    if draw(st.booleans()):
        schema[keyword] = draw(values)


@st.composite
def strings(draw):
    schema = {"type": "string"}
    kind = draw(st.sampled_from(["free", "length", "pattern", "format"]))
    if kind == "length":
        low = draw(SMALL)
        schema |= {"minLength": low, "maxLength": low + draw(SMALL)}
    if kind == "pattern":
        schema["pattern"] = draw(st.sampled_from(["^[a-c]{1,3}$", "^(ab|c)+$", "b", "^a.?$", "^[^a-z]{20,25}$", "^\\w{2}-\\d+$"]))
    if kind == "format":
        schema["format"] = draw(st.sampled_from(["date", "uuid", "ipv4", "ipv6"]))
    return schema


@st.composite
def integers(draw):
    schema = {"type": "integer"}
    low = draw(st.integers(-1100, 1100))
    some(draw, schema, draw(st.sampled_from(["minimum", "exclusiveMinimum"])), st.just(low))
    some(draw, schema, draw(st.sampled_from(["maximum", "exclusiveMaximum"])), st.integers(low + 2, low + 1200))
    return schema


@st.composite
def arrays(draw, inner):
    schema = {"type": "array"}
    some(draw, schema, "prefixItems", st.lists(inner, min_size=1, max_size=2))
    some(draw, schema, "items", inner)
    low = draw(SMALL)
    some(draw, schema, "minItems", st.just(low))
    some(draw, schema, "maxItems", st.integers(low, low + 2))
    return schema


@st.composite
def objects(draw, inner):
    names = draw(st.lists(st.sampled_from(NAMES), max_size=3, unique=True))
    schema = {"type": "object", "properties": {name: draw(inner) for name in names}}
    some(draw, schema, "additionalProperties", st.one_of(st.booleans(), inner))
    if names:
        some(draw, schema, "required", st.lists(st.sampled_from(names), unique=True))
    some(draw, schema, "maxProperties", st.integers(len(schema.get("required", [])), 4))
    return schema


@st.composite
def combined(draw, inner):
    return {draw(st.sampled_from(["anyOf", "oneOf"])): draw(st.lists(inner, min_size=1, max_size=3))}


SCALARS = st.one_of(
    strings(), integers(), st.sampled_from([{"type": "number"}, {"type": "null"}, {"type": "boolean"}, {}, True, {"type": ["string", "null"]}]),
    st.builds(lambda values: {"enum": values}, st.lists(st.sampled_from([1, "a", None, False, [1], {"q": 2.5}, "\""]), min_size=1, max_size=3, unique_by=repr)))
SCHEMAS = st.recursive(SCALARS, lambda inner: st.one_of(arrays(inner), objects(inner), combined(inner)), max_leaves=5)


def one_of_as_any_of(schema):
    if isinstance(schema, dict):
        return {"anyOf" if key == "oneOf" else key: one_of_as_any_of(value) for key, value in schema.items()}
    return [one_of_as_any_of(item) for item in schema] if isinstance(schema, list) else schema


def writable(value):
    text = json.dumps(value)
    return "\\ud8" not in text.lower() and all(ord(c) < 0xD800 or ord(c) > 0xDFFF for c in json.dumps(value, ensure_ascii=False))


def test_random_schemas(check):
    taken = []

    @settings(max_examples=2000 if FULL else 60, deadline=None, derandomize=not FULL, database=None,
              suppress_health_check=list(HealthCheck))
    @given(st.data())
    def run(data):
        schema = data.draw(SCHEMAS)
        plain = one_of_as_any_of(schema)
        validator = jsonschema.Draft202012Validator(plain, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
        values = [data.draw(from_schema(plain)) for _ in range(2)]
        values.append(data.draw(from_schema(data.draw(SCALARS))))
        values = [value for value in values if writable(value)]
        texts = [json.dumps(canonical(schema, [schema], value), ensure_ascii=False) for value in values]
        answer = check("json_schema", json.dumps(schema), texts=texts, samples=4, max_tokens=120)
        if "error" in answer:
            assert answer["error"].startswith("schema, at #") or "cannot be matched" in answer["error"], answer
            assert not any(validator.is_valid(value) for value in values) or answer["code"] == "unsupported", (schema, answer)
            return
        taken.append(1)
        for value, text, result in zip(values, texts, answer["results"]):
            assert (result == "ok") == validator.is_valid(value), (schema, text, result)
        for sample in answer["samples"]:
            assert validator.is_valid(json.loads(sample)), (schema, sample)

    run()
    assert len(taken) > (1000 if FULL else 40)
