"""Tiny random models of every architecture and shape (tests/tiny): brio, the reference and llama.cpp on each."""
import subprocess

import numpy as np
import pytest

from brio_logits import BUILD, brio_logits

import logit_distance
import reference
from reference_rounding import Rounding, parse_rounding

NUM_TOKENS = 40  # past one block of the cache and, in gemma3's tiny shape, far past its window of 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    writer = BUILD / "write_tiny_model"
    if not writer.exists():
        pytest.skip(f"{writer} is not built")
    path = tmp_path_factory.mktemp("tiny")
    subprocess.run([writer, path], check=True, stdout=subprocess.DEVNULL)
    return path


def models(folder):
    return sorted(folder.glob("*.gguf"))


def tokens_for(model):
    vocab = model.matrix(model.head_name()).shape[0]
    return np.random.default_rng(3).integers(0, vocab, NUM_TOKENS).tolist()


def reference_logits(path, rounding=Rounding()):
    model = reference.Model(path, np.float64)
    tokens = tokens_for(model)
    x, = reference.hidden_states(model, [(tokens, rounding)])
    return tokens, reference.Head(model)(x)


def test_fp32_equals_the_reference(folder, tmp_path):
    for path in models(folder):
        tokens, expected = reference_logits(path)
        errors = logit_distance.relative_l2(expected, brio_logits(path, tokens, tmp_path, "--numerics", "fp32"))
        assert errors.max() < 1e-4, f"{path.name}: {errors}"


def test_default_path_is_near_the_reference(folder, tmp_path):
    """Random weights have no large logits to dominate the distance: it shows s8 inputs, up to 18 % in IQ4_XS."""
    for path in models(folder):
        tokens, expected = reference_logits(path)
        errors = logit_distance.relative_l2(expected, brio_logits(path, tokens, tmp_path))
        assert errors.max() < 0.25, f"{path.name}: {errors}"


def test_int8_keys_and_values_are_rounded_as_stated(folder, tmp_path):
    """The reference with keys divided by their factors and rounded to 8 bits, values likewise: brio differs from it by ties
    that fall otherwise, far less than both differ from the exact logits."""
    for path in models(folder):
        if not path.with_suffix("").is_dir():
            continue  # the fp32 ones: one of each architecture and head layout
        _, exact = reference_logits(path)
        tokens, expected = reference_logits(path, parse_rounding("k=s8,v=s8,q=s16,p=s16,key_factor=weights"))
        rows = brio_logits(path, tokens, tmp_path, "--numerics", "fp32", "--kv-type", "int8")
        errors = np.linalg.norm(rows - expected, axis=1) / np.linalg.norm(exact - expected, axis=1)
        bound = 0.3 if path.name.startswith("gemma3") else 0.05  # seven layers carry each tie on
        assert np.median(errors[1:]) < bound, f"{path.name}: {errors}"


def test_safetensors_give_the_same_bits(folder, tmp_path):
    for path in models(folder):
        if path.with_suffix("").is_dir():
            tokens = list(range(5, 45))
            from_gguf = brio_logits(path, tokens, tmp_path).tobytes()
            assert brio_logits(path.with_suffix(""), tokens, tmp_path).tobytes() == from_gguf, path.name


def test_llama_cpp_agrees(folder, tmp_path):
    llama_cpp_peer = pytest.importorskip("llama_cpp_logits", reason="llama-cpp-python is not installed")
    for path in models(folder):
        if path.with_suffix("").is_dir():  # the fp32 ones: they exist as safetensors too
            tokens, expected = reference_logits(path)
            peer = llama_cpp_peer.logits(path, tokens, kv_f32=True)
            assert logit_distance.relative_l2(expected, peer).max() < 1e-3, path.name
            ours = brio_logits(path, tokens, tmp_path, "--numerics", "fp32")
            assert logit_distance.relative_l2(peer, ours).max() < 1e-3, path.name
