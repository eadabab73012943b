#!/usr/bin/env python3
"""Writes tests/golden/models/NAME.npz: sketches of the reference's logits that brio must reproduce.

    tools/golden.py MODEL.gguf NAME

For each text of tests/golden/models/texts, logits at chosen positions of its first 500 tokens; for `mixed`, 400 tokens
of each text in a row (2,000). A position's logits depend on the tokens up to it alone, so the check for a length of 31
tokens is the golden of position 30. Token ids come from llama-cpp-python's tokenizer and are part of the golden.
"""
import pathlib
import sys

import numpy as np

import logit_distance
import reference
from reference_rounding import Rounding

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "models"
TEXTS = ("english", "code", "chinese", "arabic", "emoji")
LENGTHS = (1, 31, 32, 33, 500)
MIXED = 2000


def whole_texts(model_path):
    from llama_cpp_logits import tokenize  # not at the top: those who take tokens from a golden need no llama-cpp-python
    return {name: tokenize(model_path, (FOLDER / "texts" / f"{name}.txt").read_text()) for name in TEXTS}


def mixed(texts):
    return [token for ids in texts.values() for token in ids[:MIXED // len(texts)]]


def positions_of(length):
    """The ends of the lengths to check, the first rows, both sides of block and window edges, and a few between."""
    wanted = {0, 1, 2, 7, 15, 30, 31, 32, 33, 63, 64, 100, 200, 255, 256, 350, 400, 499, 511, 512, 513, 600, 800, 1000,
              1023, 1024, 1200, 1500, 1700, 1900, 1999}
    return sorted(p for p in wanted if p < length)


def tokens_of(path):
    """case -> token ids, as a golden keeps them."""
    arrays = np.load(path)
    return {key.split(".")[0]: arrays[key].tolist() for key in arrays.files if key.endswith(".tokens")}


def main():
    model_path, name = sys.argv[1:]
    texts = whole_texts(model_path)
    cases = {text: ids[:max(LENGTHS)] for text, ids in texts.items()} | {"mixed": mixed(texts)}
    model = reference.Model(model_path)
    states = reference.hidden_states(model, [(ids, Rounding()) for ids in cases.values()])
    head = reference.Head(model)
    arrays = {}
    for (case, ids), x in zip(cases.items(), states):
        positions = positions_of(len(ids))
        arrays[f"{case}.tokens"] = np.array(ids, np.int32)
        arrays[f"{case}.positions"] = np.array(positions, np.int32)
        for part, values in logit_distance.sketch(head(x[positions])).items():
            arrays[f"{case}.{part}"] = values
    np.savez_compressed(FOLDER / f"{name}.npz", **arrays)


if __name__ == "__main__":
    main()
