"""`brio prove` as its user runs it, on a tiny model."""
import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BRIO_BUILD", ROOT / "build"))
BRIO = BUILD / "brio"
PEER = os.environ.get("BRIO_PEER")  # another build of brio, such as one by another compiler


def prove(model, *flags, **environment):
    if "--packed-cache" not in flags:
        flags = (*flags, "--packed-cache", model.parent / "packed")
    run = subprocess.run([BRIO, "prove", model, "--quick", "--json", *flags], capture_output=True, text=True,
                         env={**os.environ, **environment})
    assert run.stdout, run.stderr
    return run.returncode, json.loads(run.stdout)


def test_a_tiny_model_is_proved(models):
    code, proof = prove(models / "llama-Q4_K.gguf")
    assert (code, proof["rows_failed"]) == (0, 0)
    assert proof["combinations"] == sum(row["combinations"] for row in proof["rows"]) > 200
    assert proof["rows"][-1]["row"] == "fresh process"
    assert all(row["occurred"] for row in proof["rows"])


def test_the_packed_file_is_proved_where_it_can_be_used(models, tmp_path):
    model = models / "llama-Q6_K.gguf"
    for when in ("written", "found"):
        code, proof = prove(model, "--row", "packed cache", "--packed-cache", tmp_path)
        (row,) = proof["rows"]
        assert (code, row["result"]) == (0, "equal"), when
        assert f"mapped from {tmp_path}" in row["occurred"]
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    code, proof = prove(model, "--row", "packed cache", "--packed-cache", blocked)
    assert (code, proof["rows"][0]["result"]) == (7, "VACUOUS")
    code, proof = prove(model, "--row", "packed cache", "--packed-cache", "off")
    assert proof["rows"] == []


def test_int8_keys_and_values_are_proved(models):
    code, proof = prove(models / "qwen2-gqa7.gguf", "--kv-type", "int8", "--row", "forked choices", "--row", "fresh process")
    assert (code, proof["kv_type"], len(proof["rows"])) == (0, "int8", 2)
    _, other = prove(models / "qwen2-gqa7.gguf", "--row", "fresh process")
    assert set(proof["fingerprints"]).isdisjoint(other["fingerprints"])


def test_a_production_build_knows_no_break(models):
    """tests/invariance/breaks_test.cc shows what R6 does where it can be broken."""
    assert b"BRIO_BREAK" not in BRIO.read_bytes()
    code, _ = prove(models / "llama-F32.gguf", "--row", "seeded sampling", BRIO_BREAK="R6")
    assert code == 0


@pytest.mark.skipif(PEER is None, reason="BRIO_PEER names no other build")
def test_another_build_gives_equal_bits(models):
    for model in sorted(models.glob("*.gguf")):
        code, proof = prove(model, "--row", "another build", "--peer", PEER)
        assert code == 0, f"{model.name}: {proof['rows']}"
