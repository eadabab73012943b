"""`brio bench` as its user runs it: flags, tables and JSON; never how long anything takes."""
import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BRIO_BUILD", ROOT / "build"))
BRIO = BUILD / "brio"


def bench(*flags, **environment):
    return subprocess.run([BRIO, "bench", *map(str, flags)], capture_output=True, text=True,
                          env={**os.environ, **environment})


MODEL_FLAGS = ("-p", 6, "-n", 3, "-b", "1,2", "--kv", "0,40", "--rounds", 2, "--probe", 1)
# A working set that fits a cache may beat the read probe: what is checked here does not depend on that.
KERNEL_FLAGS = ("--type", "Q8_0", "--rows", "1,2", "--rounds", 2, "--working-set", 1, "--filter", "smollm2-135m.down")
SPREAD = {"median", "min", "max"}


def test_a_model_is_measured(models, tmp_path):
    report = tmp_path / "report.json"
    run = bench("model", models / "llama-Q4_K.gguf", *MODEL_FLAGS, "--json", report)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("\nprefill ") + run.stdout.count("\ndecode ") == 6 + 6  # the table, the breakdowns
    for probe in ("read", "int8"):
        assert f"probe {probe}" in run.stdout
    found = json.loads(report.read_text())
    assert (found["bench"], found["model"], found["rounds"]) == ("model", "llama-Q4_K", 2)
    assert [(c["phase"], c["batch"], c["context"]) for c in found["cases"]] == [
        (phase, batch, context) for context in (0, 40) for phase, batch in (("prefill", 1), ("decode", 1), ("decode", 2))]
    for case in found["cases"]:
        for spread in ("tokens_per_second", "ms_per_step", "share", "read_share", "int8_share"):
            assert set(case[spread]) == SPREAD
        assert case["breakdown"] and case["bytes_per_step"] > 0 and case["macs_per_step"] > 0
        assert case["limit"] in ("read", "int8")
    assert {p["probe"] for p in found["probes"]} >= {"read", "cache", "int8", "fp32"}
    assert all(p["variants"] for p in found["probes"])


def test_a_report_may_go_to_standard_output(models):
    run = bench("model", models / "llama-Q4_K.gguf", *MODEL_FLAGS, "--json", "-")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["bench"] == "model"


def test_every_isa_can_be_asked_for(models):
    run = bench("model", models / "llama-Q4_K.gguf", *MODEL_FLAGS, "--json", "-", "--isa", "scalar")
    assert json.loads(run.stdout)["machine"]["isa"] == "scalar"


def test_kernels_are_measured():
    if not BRIO.exists():
        pytest.skip(f"{BRIO} is not built")
    run = bench("kernels", *KERNEL_FLAGS, "--json")
    found = json.loads(run.stdout)
    assert found["bench"] == "kernels"
    assert [(r["kernel"], r["rows"]) for r in found["results"]] == [
        ("linear Q8_0 smollm2-135m.down 576x1536", rows) for rows in (1, 2)]
    assert all(set(r["us"]) == set(r["share"]) == SPREAD for r in found["results"])
    above = [r for r in found["results"] if r["share"]["median"] > 1]
    assert run.returncode == (7 if above else 0), run.stderr
    table = bench("kernels", *KERNEL_FLAGS).stdout
    assert table.count("linear Q8_0 smollm2-135m.down 576x1536") == 2
    assert "probe read" in table


@pytest.mark.parametrize("flags, message, code", [
    (("kernels", "--type", "Q9_0"), "--type Q9_0: not one of F32, F16", 2),
    (("kernels", "--filter", "nothing like it"), "no kernel's name contains 'nothing like it'", 2),
    (("kernels", "--rows", "0"), "--rows", 2),
    (("kernels", "--rows", "513"), "--rows", 2),
    (("kernels", "--isa", "neon"), "--isa neon: not one of scalar, avx2, avx512", 2),
    (("kernels", "--rounds", "0"), "--rounds", 2),
    (("kernels", "--working-set", "1000000"), "more than half of this machine's memory", 5),
    ((), "subcommand", 2),
    (("model",), "MODEL", 2),
    (("model", "no-such-file.gguf"), "no-such-file.gguf", 4),
])
def test_bad_flags_are_named(flags, message, code):
    if not BRIO.exists():
        pytest.skip(f"{BRIO} is not built")
    run = bench(*flags)
    assert (run.returncode, message in run.stderr) == (code, True), run.stderr


@pytest.mark.parametrize("flags, message", [
    ({"-b": "0"}, "--batch"),
    ({"-p": "-1"}, "--prompt"),
    ({"-p": "0", "-n": "0"}, "nothing is left to measure"),
    ({"--kv": "1000000"}, "--kv 1000000 with -p"),
    ({"--json": "/no/such/folder/report.json"}, "--json /no/such/folder/report.json"),
])
def test_bad_flags_of_a_model_are_named(models, flags, message):
    few = {"-p": 2, "-n": 1, "-b": 1, "--kv": 0, "--rounds": 1, "--probe": 1}
    run = bench("model", models / "llama-Q4_K.gguf", *(part for flag in (few | flags).items() for part in flag))
    assert run.returncode != 0
    assert message in run.stderr
