"""grammar_check as a function, and JSON as brio's grammars write it."""

import json
import os
import pathlib
import subprocess
import tarfile

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("BRIO_GRAMMAR_CHECK", REPOSITORY / "build" / "grammar_check"))
SOURCES = pathlib.Path(os.environ.get("BRIO_SCHEMA_SOURCES", REPOSITORY / "build" / "venv" / "sources"))
FULL = os.environ.get("BRIO_FULL") == "1"


class Checker:
    def __init__(self):
        if not BINARY.exists():
            pytest.skip(f"{BINARY} is not built")
        self.process = subprocess.Popen([BINARY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, kind, text="", **more):
        self.process.stdin.write(json.dumps({"kind": kind, "text": text, **more}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "problem" not in answer, f"{text}: {answer['problem']}"
        return answer

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0


def schema_suite(folder):
    """(file name, groups) of the JSON-Schema-Test-Suite, which comes in the source package of `jsonschema`."""
    found = sorted(SOURCES.glob("jsonschema-*.tar.gz"))
    if not found:
        pytest.skip(f"no source package of jsonschema in {SOURCES}")
    with tarfile.open(found[-1]) as package:
        for member in sorted(package.getmembers(), key=lambda m: m.name):
            parts = pathlib.PurePosixPath(member.name).parts
            if "/".join(parts[1:-1]) == f"json/tests/{folder}" and member.name.endswith(".json"):
                yield parts[-1], json.load(package.extractfile(member))


def resolve(root, reference):
    """What a reference into the schema means; nothing for others, which brio refuses."""
    if reference != "#" and not reference.startswith("#/"):
        return {}
    target = root
    for part in reference.removeprefix("#").split("/")[1:]:
        part = part.replace("%25", "%").replace("%22", '"').replace("~1", "/").replace("~0", "~")
        try:
            target = target[int(part)] if isinstance(target, list) else target[part]
        except (KeyError, IndexError):
            return {}
    return target


def spread(root, schemas, depth=0):
    """The schemas that apply at the same place: those given, what they refer to, and their branches."""
    for schema in schemas:
        if not isinstance(schema, dict) or depth > 20:
            continue
        yield schema
        if "$ref" in schema:
            yield from spread(root, [resolve(root, schema["$ref"])], depth + 1)
        for keyword in ("allOf", "anyOf", "oneOf"):
            yield from spread(root, schema.get(keyword, []), depth + 1)


def canonical(root, schemas, value):
    """The value with its properties in the order in which brio writes them, and whole numbers without fraction."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    around = list(spread(root, schemas)) if isinstance(value, (dict, list)) else []
    if isinstance(value, list):
        out = []
        for i, item in enumerate(value):
            inner = []
            for schema in around:
                prefix = schema.get("prefixItems", [])
                inner.append(prefix[i] if i < len(prefix) else schema.get("items"))
            out.append(canonical(root, inner, item))
        return out
    if isinstance(value, dict):
        names = [name for schema in around for name in schema.get("properties", {})]
        names += [name for schema in around for name in schema.get("required", [])]
        for schema in around:
            for listed in [schema.get("const"), *schema.get("enum", [])]:
                if isinstance(listed, dict) and listed == value:
                    names = list(listed) + names
        ordered = sorted(value, key=lambda name: names.index(name) if name in names else len(names))
        return {name: canonical(root, [s.get("properties", {}).get(name, s.get("additionalProperties")) for s in around],
                                value[name]) for name in ordered}
    return value


def layouts(root, value):
    """The texts of a value that have to be accepted."""
    value = canonical(root, [root], value)
    return [json.dumps(value, ensure_ascii=False),
            json.dumps(value, ensure_ascii=False, separators=(",", ":")),
            json.dumps(value, ensure_ascii=False, indent=2)]
