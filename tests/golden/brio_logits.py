"""Runs `brio logits` and opens what it wrote. BRIO_BUILD: the build, else build/. BRIO_MODELS: a folder of .gguf files."""
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
BUILD = pathlib.Path(os.environ.get("BRIO_BUILD", ROOT / "build"))
BRIO = BUILD / "brio"


def model_path(name):
    """The file of a catalogue model; skips the test where it is not present."""
    home = pathlib.Path(os.environ.get("BRIO_HOME", pathlib.Path.home() / ".cache" / "brio"))
    folders = [pathlib.Path(os.environ["BRIO_MODELS"])] if "BRIO_MODELS" in os.environ else [home / "models", home]
    for folder in folders:
        if (folder / f"{name}.gguf").exists():
            return folder / f"{name}.gguf"
    pytest.skip(f"{name}.gguf is not in {' or '.join(map(str, folders))}")


def brio_logits(model, tokens, folder, *flags):
    """Logits of every position, [tokens, vocab], mapped from a file in `folder`."""
    if not BRIO.exists():
        pytest.skip(f"{BRIO} is not built")
    out = folder / "logits.npy"
    run = subprocess.run([BRIO, "logits", model, "--tokens", ",".join(map(str, tokens)), "--npy", out, *flags],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return np.load(out, mmap_mode="r")
