#!/usr/bin/env python3
"""brio and llama.cpp against the reference on the texts of tests/golden/models: the table of the README.

    tools/compare_logits.py MODEL.gguf [--brio build/brio] [--without-peer] [--simulate RULES]
    tools/compare_logits.py MODEL.gguf --without-peer --golden tests/golden/models/NAME.npz --texts mixed

For each text and for a mixture of 2,000 tokens: relative L2 of `--numerics fp32` (largest over positions), mean KL of
the default path (position 0 apart), of the same with int8 keys and values, of int8 keys and values in fp32 arithmetic
(what they cost by themselves) and of llama.cpp with flash attention off and on, and at the end the perplexity of all
texts under each. The reference takes some minutes for the larger models. --simulate adds a row for the rounding rules
of reference_rounding.py. The second form takes the tokens of a golden and needs no llama-cpp-python.
"""
import argparse
import pathlib
import subprocess
import tempfile

import numpy as np

import golden
import logit_distance
import reference
from reference_rounding import parse_rounding

CHUNK = 128  # rows of logits in memory at a time


class Score:
    """Sums over the positions of all texts for one way to compute logits."""

    def __init__(self):
        self.kl, self.first_kl, self.l2, self.likelihood, self.agree = [], [], [], [], []

    def add(self, start, tokens, expected, rows):
        kl = logit_distance.kl_divergence(expected, rows)
        self.first_kl.extend(kl[:1] if start == 0 else [])
        self.kl.extend(kl[1:] if start == 0 else kl)
        self.l2.extend(logit_distance.relative_l2(expected, rows))
        self.agree.extend(expected.argmax(axis=1) == rows.argmax(axis=1))
        following = tokens[start + 1:start + 1 + len(rows)]
        self.likelihood.extend(logit_distance.negative_log_likelihood(rows[:len(following)], following))


def brio_rows(args, tokens, folder, name, *flags):
    out = pathlib.Path(folder) / f"{name}.npy"
    command = [args.brio, "logits", args.model, "--tokens", ",".join(map(str, tokens)), "--npy", out, *flags]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return np.load(out, mmap_mode="r")


def ways(args, tokens, folder):
    """name -> logits of one text, [tokens, vocab]."""
    if args.brio:
        yield "brio fp32", brio_rows(args, tokens, folder, "fp32", "--numerics", "fp32")
        yield "brio", brio_rows(args, tokens, folder, "default")
        yield "brio int8 KV", brio_rows(args, tokens, folder, "int8", "--kv-type", "int8")
        yield "fp32 + int8 KV", brio_rows(args, tokens, folder, "fp32-int8", "--numerics", "fp32", "--kv-type", "int8")
    if not args.without_peer:
        import llama_cpp_logits
        yield "llama.cpp", llama_cpp_logits.logits(args.model, tokens)
        yield "llama.cpp flash", llama_cpp_logits.logits(args.model, tokens, flash_attention=True)


def compare(tokens, head, x, computed, scores):
    for start in range(0, len(tokens), CHUNK):
        expected = head(x[start:start + CHUNK])
        scores.setdefault("reference", Score()).add(start, tokens, expected, expected)
        for name, rows in computed:
            chunk = rows(start) if callable(rows) else np.asarray(rows[start:start + CHUNK])
            scores.setdefault(name, Score()).add(start, tokens, expected, chunk)


def report(title, scores):
    exact = np.mean(scores["reference"].likelihood)
    for name, s in scores.items():
        ratio = np.exp(np.mean(s.likelihood) - exact)
        print(f"{title:9} {name:16} KL {np.mean(s.kl):.5f} p99 {np.quantile(s.kl, 0.99):.4f} first {max(s.first_kl):.5f} "
              f"top-1 {np.mean(s.agree):.4f} largest L2 {max(s.l2):.2e} "
              f"perplexity x {ratio:.5f} ({len(s.likelihood)} tokens)", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--brio", default="build/brio", help="'' leaves brio out")
    parser.add_argument("--without-peer", action="store_true")
    parser.add_argument("--simulate", action="append", default=[], help="a further row; may be given several times")
    parser.add_argument("--golden", help="take the tokens from this file of tests/golden/models")
    parser.add_argument("--texts", default="", help="names, separated by commas; default: all")
    args = parser.parse_args()
    if args.golden:
        cases = golden.tokens_of(args.golden)
    else:
        texts = golden.whole_texts(args.model)
        cases = texts | {"mixed": golden.mixed(texts)}
    cases = {name: ids for name, ids in cases.items() if not args.texts or name in args.texts.split(",")}
    rules = {text: parse_rounding(text) for text in ["", *args.simulate]}
    runs = [(ids, rule) for rule in rules.values() for ids in cases.values()]
    model = reference.Model(args.model)
    states = iter(reference.hidden_states(model, runs))
    states = {text: {case: next(states) for case in cases} for text in rules}
    head = reference.Head(model)
    total = {}
    for case, tokens in cases.items():
        scores = {}
        with tempfile.TemporaryDirectory() as folder:
            computed = list(ways(args, tokens, folder))
            computed += [(text, lambda start, t=text: head(states[t][case][start:start + CHUNK], rules[t]))
                         for text in args.simulate]
            compare(tokens, head, states[""][case], computed, scores)
        report(case, scores)
        if case != "mixed":
            for name, score in scores.items():
                for field, values in vars(score).items():
                    getattr(total.setdefault(name, Score()), field).extend(values)
    if total:
        report("all", total)


if __name__ == "__main__":
    main()
