"""Regular expressions against Python's, over all short texts of a small alphabet, and over texts near the expression."""

import itertools
import random
import re

import pytest

from checker import FULL

ALPHABET = "ab-1"


def random_regex(chance, depth=0):
    kind = chance.randrange(8 if depth < 3 else 4)
    if kind < 2:
        return chance.choice(["a", "b", "-", "1", "[ab]", "[^a]", ".", "\\d", "\\w", "[a-b1]", "\\-"])
    if kind < 4:
        return random_regex(chance, depth + 1) + random_regex(chance, depth + 1)
    if kind == 4:
        return f"({random_regex(chance, depth + 1)}|{random_regex(chance, depth + 1)})"
    if kind == 5:
        return f"(?:{random_regex(chance, depth + 1)}){chance.choice('*+?')}"
    if kind == 6:
        low = chance.randrange(3)
        return f"({random_regex(chance, depth + 1)}){{{low},{low + chance.randrange(3)}}}"
    return f"({random_regex(chance, depth + 1)}){{{chance.randrange(3)},}}"


@pytest.mark.parametrize("seed", range(300 if FULL else 30))
def test_random_expressions(check, seed):
    chance = random.Random(seed)
    pattern = random_regex(chance)
    texts = ["".join(text) for length in range(1, 4) for text in itertools.product(ALPHABET, repeat=length)]
    texts += ["".join(chance.choices(ALPHABET, k=chance.randrange(4, 9))) for _ in range(40)]
    answer = check("regex", pattern, texts=texts, samples=5, max_tokens=60, seed=seed)
    assert "error" not in answer, (pattern, answer)
    for text, result in zip(texts, answer["results"]):
        assert (result == "ok") == bool(re.fullmatch(pattern, text)), (pattern, text, result)
    for sample in answer["samples"]:
        assert re.fullmatch(pattern, sample, re.ASCII), (pattern, sample)
