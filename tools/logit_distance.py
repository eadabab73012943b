"""How far one matrix of logits is from another, and the sketch of logits that goldens keep.

A sketch of one row holds its 64 largest logits, the log of its sum of exponentials, its L2 norm and 32 random sums: sums
of all logits under signs +-1 made by a hash of (vocabulary index, sum). The squared difference of two rows' random sums
is on average the squared distance of the rows, so a golden of 0.7 kB a row bounds the error over the whole vocabulary.
"""
import numpy as np

TOP = 64
NUM_SUMS = 32


def log_softmax(rows):
    shifted = rows - rows.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True, dtype=np.float64)).astype(rows.dtype)


def kl_divergence(reference, other):
    """KL(reference || other) per row, nats."""
    p, q = log_softmax(reference), log_softmax(other)
    return np.maximum((np.exp(p) * (p - q)).sum(axis=1, dtype=np.float64), 0)


def relative_l2(reference, other):
    wide = reference.astype(np.float64)
    return np.linalg.norm(other - wide, axis=1) / np.linalg.norm(wide, axis=1)


def negative_log_likelihood(rows, next_tokens):
    return -log_softmax(rows)[np.arange(len(next_tokens)), next_tokens].astype(np.float64)


def signs(vocab):
    """[vocab, NUM_SUMS] of +-1: the top bit of splitmix64's output for each index."""
    with np.errstate(over="ignore"):
        z = np.arange(1, vocab * NUM_SUMS + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits = (z ^ (z >> np.uint64(31))) >> np.uint64(63)
    return (1 - 2 * bits.astype(np.int8)).astype(np.float32).reshape(vocab, NUM_SUMS)


def sketch(rows):
    top = np.argsort(-rows, axis=1, kind="stable")[:, :TOP]
    wide = rows.astype(np.float64)
    peak = wide.max(axis=1)
    return {
        "top_ids": top.astype(np.int32),
        "top_logits": np.take_along_axis(rows, top, axis=1).astype(np.float32),
        "log_sum_exp": (peak + np.log(np.exp(wide - peak[:, None]).sum(axis=1))).astype(np.float32),
        "norm": np.linalg.norm(wide, axis=1).astype(np.float32),
        "sums": (rows.astype(np.float32) @ signs(rows.shape[1])).astype(np.float32),
    }


def sketched_relative_l2(golden, rows):
    """Estimate of relative_l2 from a sketch: within a third of the truth 99 times in 100."""
    difference = (rows.astype(np.float32) @ signs(rows.shape[1])).astype(np.float64) - golden["sums"]
    return np.sqrt(np.mean(difference ** 2, axis=1)) / golden["norm"]


def sketched_kl(golden, rows):
    """KL over the golden's top tokens and everything else taken as one: a lower bound of kl_divergence."""
    q = np.take_along_axis(log_softmax(rows).astype(np.float64), golden["top_ids"].astype(np.int64), axis=1)
    p = golden["top_logits"].astype(np.float64) - golden["log_sum_exp"].astype(np.float64)[:, None]
    rest_p = np.maximum(1 - np.exp(p).sum(axis=1), 1e-12)
    rest_q = np.maximum(1 - np.exp(q).sum(axis=1), 1e-12)
    return (np.exp(p) * (p - q)).sum(axis=1) + rest_p * np.log(rest_p / rest_q)
