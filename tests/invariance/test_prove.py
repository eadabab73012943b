"""`brio prove` as its user runs it, on a tiny model."""
import json
import os
import pathlib
import signal
import subprocess
import time

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
    assert all(row["occurred"] and row["positions"] > 0 for row in proof["rows"])
    assert not proof["stopped"]


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


def refused(model, *flags):
    run = subprocess.run([BRIO, "prove", model, "--quick", *flags], capture_output=True, text=True)
    assert run.returncode not in (0, 7), run.stdout  # neither a proof nor a difference
    return run.stderr


def test_a_row_that_cannot_run_is_refused(models):
    """0 combinations without a differing bit would look like a proof."""
    model = models / "llama-F32.gguf"
    assert "needs --peer" in refused(model, "--row", "another build")
    assert "there is no packed file with --packed-cache off" in refused(model, "--row", "packed cache", "--packed-cache", "off")
    assert "no packed file with --numerics fp32" in refused(model, "--row", "packed cache", "--numerics", "fp32")
    assert "no such row" in refused(model, "--row", "alone", "--row", "nobody")


def test_another_build_is_found_beside_the_reader(models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("other").symlink_to(BRIO)
    code, proof = prove(models / "llama-F32.gguf", "--row", "another build", "--peer", "other")
    (row,) = proof["rows"]
    assert (code, row["result"]) == (0, "equal") and row["positions"] > 500
    pathlib.Path("silent").symlink_to("/bin/true")
    code, proof = prove(models / "llama-F32.gguf", "--row", "alone", "--row", "another build", "--peer", "silent")
    assert (code, [row["result"] for row in proof["rows"]]) == (7, ["equal", "VACUOUS"])
    assert "printed 0 lines for 16 texts" in proof["rows"][1]["detail"]


def test_a_state_is_of_one_proof(models, tmp_path):
    model, state = models / "llama-F32.gguf", tmp_path / "state"
    state.touch()  # as mktemp leaves it
    code, proof = prove(model, "--row", "threads", "--threads", "2", "--state", state)
    assert (code, proof["rows"][0]["runs"]) == (0, 2)
    kept = state.read_text()
    code, again = prove(model, "--row", "threads", "--threads", "2", "--state", state, "--runs", "6")
    assert (code, again["rows"][0]["runs"]) == (0, 6)  # it went on
    assert again["rows"][0]["combinations"] > proof["rows"][0]["combinations"]
    for flags in (["--threads", "3"], ["--threads", "2", "--seed", "2"], ["--threads", "2", "--kv-type", "int8"]):
        assert "line 1: the state of another" in refused(model, "--row", "threads", *flags, "--state", state)
    assert "line 1: the state of another" in refused(models / "llama-Q4_K.gguf", "--threads", "2", "--state", state)
    for cut in (kept[: kept.rindex("\t")], kept[: kept.index("\n") + 9], kept.replace("\t2\t", "\t-2\t")):
        state.write_text(cut)
        assert "line 2: not a row's state" in refused(model, "--row", "threads", "--threads", "2", "--state", state)
    assert "a folder" in refused(model, "--state", tmp_path)
    assert "No such file or directory" in refused(model, "--state", tmp_path / "absent" / "state")


def test_ctrl_c_keeps_what_was_proved(models, tmp_path):
    state = tmp_path / "state"
    command = [BRIO, "prove", models / "llama-F32.gguf", "--quick", "--json", "--runs", "100000", "--row", "alone", "--state", state]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not state.exists():  # kept now and then
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=60)
    proof = json.loads(out)
    assert process.returncode == 130 and "stopped after" in said
    assert proof["stopped"] and 0 < proof["rows"][0]["runs"] < 100000
    name, runs = state.read_text().splitlines()[1].split("\t")[:2]
    assert (name, int(runs)) == ("alone", proof["rows"][0]["runs"])


def test_ctrl_c_stops_other_processes_too(models, tmp_path):
    """As a terminal sends it: to all of them."""
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\necho > \"$0.started\"\nexec sleep 60\n")
    slow.chmod(0o755)
    command = [BRIO, "prove", models / "llama-F32.gguf", "--quick", "--json", "--row", "alone", "--row", "another build", "--peer", slow]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while process.poll() is None and not (tmp_path / "slow.started").exists():
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    out, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "stopped after" in said
    assert [row["row"] for row in json.loads(out)["rows"]] == ["alone"]


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
