#!/usr/bin/env python3
"""Writes the goldens of src/chat: what jinja2, set up as the package transformers sets it up, makes of each template.

usage: template_oracle.py [--models FOLDER]    needs: pip install jinja2, and gguf for --models

tools/template_cases.py            small cases by topic     -> tests/golden/templates/<topic>.json
tests/golden/templates/families/   one template per family, rendered for every conversation of conversations.json
                                                            -> tests/golden/templates/families.json
The small cases also seed the fuzzer: tests/fuzz/template.
--models: the templates inside FOLDER/*.gguf for the same conversations -> models.json. It holds length and FNV-1a hash of
each text, not the text: the templates are not ours.
A topic is {"context", "cases"}; a case is {"template" | "family" + "conversation", "expected" | "error"}. error is the
message that the template raised, or true when jinja2 refused for a reason of its own.
"""
import argparse
import datetime
import json
import pathlib
import sys
import warnings

import jinja2
import jinja2.ext
import jinja2.sandbox

NOW = 1721952000  # 2024-07-26 00:00 UTC; the C++ test uses the same


class Generation(jinja2.ext.Extension):
    """{% generation %}: marks what the assistant wrote; prints its body."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        call = self.call_method("_body", [], lineno=line)
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


class Raised(Exception):
    pass


def raise_exception(message):
    raise Raised(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def strftime_now(form):
    return datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).strftime(form)


def environment():
    # optimized: folded constants follow other rules than the same code at run time (1[0:2] is undefined, x[0:2] an error).
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, optimized=False, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals.update(raise_exception=raise_exception, strftime_now=strftime_now)
    return env


def result_of(env, source, context):
    """{"expected": text} or {"error": message | True}"""
    try:
        return {"expected": env.from_string(source).render(**json.loads(json.dumps(context)))}
    except Raised as raised:
        return {"error": str(raised)}
    except Exception:  # whatever Python raises inside a template
        return {"error": True}


def write(path, context, cases):
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    context = json.dumps(context, ensure_ascii=False)
    path.write_text(f'{{"context": {context},\n"cases": [\n{lines}\n]}}\n', encoding="utf-8")
    errors = sum("error" in case for case in cases)
    print(f"{path.name}: {len(cases)} cases, {errors} of them errors")


def family_cases(env, folder):
    conversations = json.loads((folder / "conversations.json").read_text(encoding="utf-8"))
    tokens = json.loads((folder / "control_tokens.json").read_text(encoding="utf-8"))
    for path in sorted((folder / "families").glob("*.jinja")):
        source = path.read_text(encoding="utf-8")
        for name, context in conversations.items():
            full = {"tools": None, "documents": None, "bos_token": tokens[path.stem]["bos"],
                    "eos_token": tokens[path.stem]["eos"], "add_generation_prompt": True, **context}
            yield {"family": path.stem, "conversation": name, **result_of(env, source, full)}


def write_seeds(folder, topics):
    """Seeds of template_fuzz: cases that render, 40 to a file, a zero byte, the context."""
    folder.mkdir(parents=True, exist_ok=True)
    context = json.dumps(topics["context"], ensure_ascii=False)
    for topic, templates in topics["templates"].items():
        for at in range(0, len(templates), 40):
            seed = "\n".join(templates[at:at + 40]) + "\0" + context
            (folder / f"{topic}{at // 40}").write_bytes(seed.encode())


def fnv1a64(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return f"{value:016x}"


def model_cases(env, folder, models):
    import gguf
    conversations = json.loads((folder / "conversations.json").read_text(encoding="utf-8"))
    for path in sorted(models.glob("*.gguf")):
        field = gguf.GGUFReader(path).fields.get("tokenizer.chat_template")
        for name, context in conversations.items() if field else ():
            full = {"tools": None, "documents": None, "bos_token": "<s>", "eos_token": "</s>",
                    "add_generation_prompt": True, **context}
            result = result_of(env, field.contents(), full)
            if "expected" in result:
                text = result.pop("expected").encode()
                result = {"bytes": len(text), "fnv1a64": fnv1a64(text)}
            yield {"model": path.name, "conversation": name, **result}


def main():
    warnings.simplefilter("ignore", SyntaxWarning)  # Python's remarks on 1[0] in compiled templates
    parser = argparse.ArgumentParser(description="Writes the goldens of src/chat.")
    parser.add_argument("--models", type=pathlib.Path)
    arguments = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    sys.path.insert(0, str(root / "tools"))
    import template_cases
    env = environment()
    folder = root / "tests/golden/templates"
    context = template_cases.CONTEXT
    rendered = {}
    for topic, templates in template_cases.topics().items():
        cases = [{"template": template, **result_of(env, template, context)} for template in templates]
        if topic == "random":  # most random expressions fail: keep some of those
            failed = [case for case in cases if "error" in case]
            cases = [case for case in cases if "expected" in case] + failed[:150]
        write(folder / f"{topic}.json", context, cases)
        if topic != "random":
            rendered[topic] = [case["template"] for case in cases if "expected" in case]
    write_seeds(root / "tests/fuzz/template", {"context": context, "templates": rendered})
    write(folder / "families.json", {}, list(family_cases(env, folder)))
    if arguments.models:
        write(folder / "models.json", {}, list(model_cases(env, folder, arguments.models)))


if __name__ == "__main__":
    main()
