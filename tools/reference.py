#!/usr/bin/env python3
"""An independent forward pass: the oracle that brio's logits are compared with.

Plain numpy on weights dequantised by the `gguf` package, written from the papers and sharing nothing with src/:
  llama   Touvron et al. 2023; rotary pairs (2i, 2i+1), because GGUF stores Llama's q and k rows in that order
  qwen2   Llama with biases on q, k, v; rotary pairs (i, i + d/2), as in all that follow
  qwen3   Qwen2 without biases, RMS norm on every q and k head
  gemma3  Gemma team 2025: five window layers to one full layer, norms before and after each branch, GeGLU
Rotary scaling: none, linear (Chen et al. 2023), llama3 (as frequency factors or numbers), yarn (Peng et al. 2023).

    tools/reference.py MODEL.gguf --tokens 1,2,3 --npy logits.npy [--double] [--simulate kv=bf16,activations=s8]

Weights are dequantised one layer at a time; all sequences pass a layer together, so memory stays near one layer.
"""
import argparse
import dataclasses
import math

import gguf
import numpy as np

from reference_rounding import Rounding, pair_factors, parse_rounding


@dataclasses.dataclass
class Rope:
    frequencies: np.ndarray  # [rotary_dim / 2], radians per position
    magnitude: float         # of cos and sin (yarn)
    interleaved: bool        # pairs (2i, 2i+1), else (i, i + rotary_dim / 2)

    def rotate(self, x, positions):  # x [tokens, heads, head_dim]
        angle = np.multiply.outer(positions.astype(np.float64), self.frequencies)
        cos = (np.cos(angle) * self.magnitude).astype(x.dtype)[:, None, :]
        sin = (np.sin(angle) * self.magnitude).astype(x.dtype)[:, None, :]
        half = len(self.frequencies)
        first = slice(0, 2 * half, 2) if self.interleaved else slice(0, half)
        second = slice(1, 2 * half, 2) if self.interleaved else slice(half, 2 * half)
        out = x.copy()
        out[..., first] = x[..., first] * cos - x[..., second] * sin
        out[..., second] = x[..., first] * sin + x[..., second] * cos
        return out


def rope_frequencies(dim, base, scaling=None, factors=None):
    """(frequencies [dim / 2], magnitude). scaling: dict of the GGUF rope.scaling.* keys without their prefix."""
    frequencies = base ** (-np.arange(0, dim, 2, dtype=np.float64) / dim)
    if factors is not None:
        frequencies = frequencies / np.asarray(factors, np.float64)
    kind = (scaling or {}).get("type", "none")
    if kind == "none":
        return frequencies, 1.0
    factor = float(scaling["factor"])
    if kind == "linear":
        return frequencies / factor, 1.0
    original = float(scaling.get("original_context_length", 0))
    if kind == "llama3":
        low, high = float(scaling["low_freq_factor"]), float(scaling["high_freq_factor"])
        turns = original * frequencies / (2 * math.pi)      # rotations over the original context
        keep = np.clip((turns - low) / (high - low), 0, 1)  # 0: slowed by factor; 1: as trained
        return frequencies * (keep + (1 - keep) / factor), 1.0
    if kind == "yarn":
        def pair_of(rotations):  # the pair that turns that often over the original context
            return dim * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(base))
        low = max(math.floor(pair_of(float(scaling.get("yarn_beta_fast", 32)))), 0)
        high = min(math.ceil(pair_of(float(scaling.get("yarn_beta_slow", 1)))), dim - 1)
        slowed = np.clip((np.arange(dim // 2) - low) / max(high - low, 0.001), 0, 1)
        magnitude = float(scaling.get("attn_factor", 0)) or 0.1 * math.log(factor) + 1
        return frequencies * (slowed / factor + 1 - slowed), magnitude
    raise ValueError(f"rope scaling {kind!r} is not one of none, linear, llama3, yarn")


class Model:
    def __init__(self, path, dtype=np.float32):
        self.dtype = dtype
        reader = gguf.GGUFReader(path)
        self.meta = reader.fields
        self.tensors = {t.name: t for t in reader.tensors}
        self.architecture = self.meta["general.architecture"].contents()
        if self.architecture not in ("llama", "qwen2", "qwen3", "gemma3"):
            raise ValueError(f"architecture {self.architecture!r} is not one of llama, qwen2, qwen3, gemma3")
        self.num_layers = self.key("block_count")
        self.hidden = self.key("embedding_length")
        self.num_heads = self.key("attention.head_count")
        self.num_kv_heads = self.key("attention.head_count_kv", self.num_heads)
        self.head_dim = self.key("attention.key_length", self.hidden // self.num_heads)
        self.epsilon = self.key("attention.layer_norm_rms_epsilon")
        self.gemma = self.architecture == "gemma3"
        self.rope = self.make_rope(self.key("rope.freq_base", 10000.0), scaled=True)
        self.local_rope = self.make_rope(self.key("rope.freq_base_swa", 10000.0), scaled=False)
        # 27B alone divides by the width per query head instead of the head's own dimension.
        width = self.hidden // self.num_heads if self.gemma and self.num_layers == 62 else self.head_dim
        self.attention_scale = self.key("attention.scale", width ** -0.5)
        self.embedding_scale = math.sqrt(self.hidden) if self.gemma else 1.0

    def key(self, name, default=None):
        field = self.meta.get(f"{self.architecture}.{name}")
        if field is None and default is None:
            raise KeyError(f"{self.architecture}.{name} is missing")
        return default if field is None else field.contents()

    def make_rope(self, base, scaled):
        prefix = f"{self.architecture}.rope.scaling."
        scaling, factors = {}, None
        if scaled:
            scaling = {k[len(prefix):]: f.contents() for k, f in self.meta.items() if k.startswith(prefix)}
            factors = self.vector("rope_freqs.weight") if "rope_freqs.weight" in self.tensors else None
        dim = self.key("rope.dimension_count", self.head_dim)
        frequencies, magnitude = rope_frequencies(dim, base, scaling, factors)
        return Rope(frequencies, magnitude, interleaved=self.architecture == "llama")

    def window(self, layer):  # number of keys a query sees, itself included; 0: all
        if not self.gemma:
            return 0
        pattern = self.key("attention.sliding_window_pattern", 6)
        local = pattern[layer] if isinstance(pattern, (list, tuple)) else layer % pattern < pattern - 1
        return self.key("attention.sliding_window") if local else 0

    def matrix(self, name):  # [N, K]
        tensor = self.tensors[name]
        return gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(self.dtype, copy=False)

    def matrix_type(self, name):
        return self.tensors[name].tensor_type.name

    def vector(self, name):
        return self.matrix(name).reshape(-1)

    def embed(self, tokens):  # [tokens, hidden]
        tensor = self.tensors["token_embd.weight"]
        rows = gguf.quants.dequantize(tensor.data[np.asarray(tokens)], tensor.tensor_type).astype(self.dtype)
        return rows * self.dtype(self.embedding_scale)

    def head_name(self):
        return "output.weight" if "output.weight" in self.tensors else "token_embd.weight"


def rms_norm(x, weight, epsilon):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + x.dtype.type(epsilon)) * weight


def silu(x):
    return x / (1 + np.exp(-x))


def gelu_tanh(x):
    return x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))) / 2


def attend(q, k, v, scale, window, rounding):
    """q [tokens, heads, dim], v [tokens, kv_heads, dim], k as rounding.keys() made it -> [tokens, heads * dim]."""
    tokens, heads, _ = q.shape
    group = heads // v.shape[1]
    age = np.subtract.outer(np.arange(tokens), np.arange(tokens))  # query position - key position
    hidden = (age < 0) | (age >= window if window else False)
    out = np.empty_like(q)
    terms = rounding.scores(q, k)
    for h in range(heads):
        scores = sum(a[:, h] @ b[:, h // group].T for a, b in terms) * q.dtype.type(scale)
        scores[hidden] = -np.inf
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        out[:, h] = rounding.weigh(p, v[:, h // group]) / p.sum(axis=1, keepdims=True)
    return out.reshape(tokens, -1)


class Layer:
    """One transformer block with its weights dequantised; applied to any number of sequences."""

    def __init__(self, model, index):
        self.model, self.index = model, index
        self.weights, self.types = {}, {}
        prefix = f"blk.{index}."
        for name in (n for n in model.tensors if n.startswith(prefix)):
            short = name[len(prefix):]
            is_vector = "norm" in short or short.endswith(".bias")
            self.weights[short] = model.vector(name) if is_vector else model.matrix(name)
            self.types[short] = model.matrix_type(name)

    def linear(self, name, x, rounding):
        y = rounding.linear_input(x, self.types[name + ".weight"], name) @ self.weights[name + ".weight"].T
        bias = self.weights.get(name + ".bias")
        return y if bias is None else y + bias

    def norm(self, name, x):
        weight = self.weights.get(name + ".weight")
        return x if weight is None else rms_norm(x, weight, self.model.epsilon)

    def attention(self, x, rounding):
        m = self.model
        tokens = len(x)
        q = self.linear("attn_q", x, rounding).reshape(tokens, m.num_heads, m.head_dim)
        k = self.linear("attn_k", x, rounding).reshape(tokens, m.num_kv_heads, m.head_dim)
        v = self.linear("attn_v", x, rounding).reshape(tokens, m.num_kv_heads, m.head_dim)
        window = m.window(self.index)
        rope = m.local_rope if window else m.rope
        positions = np.arange(tokens)
        bias = self.weights.get("attn_k.bias")
        rotated_bias = None
        if bias is not None:
            rotated_bias = rope.rotate(np.broadcast_to(bias.reshape(1, *k.shape[1:]), k.shape), positions)
        q = rope.rotate(self.norm("attn_q_norm", q), positions)
        k = rope.rotate(self.norm("attn_k_norm", k), positions)
        if rounding.key_factor:
            factor = self.key_factor(rounding.key_factor, rope).astype(k.dtype)
            k = k / factor
            q = q * np.repeat(factor, m.num_heads // m.num_kv_heads, axis=0)
            rotated_bias = rotated_bias / factor if rotated_bias is not None else None
        stored = rounding.keys(k, rotated_bias)
        context = attend(q, stored, rounding.values(v), m.attention_scale, window, rounding)
        return self.linear("attn_output", context, rounding)

    def key_factor(self, rule, rope):
        m = self.model
        heads = (m.num_kv_heads, m.head_dim)
        norm = self.weights.get("attn_k_norm.weight")
        bias = self.weights.get("attn_k.bias")
        if norm is None:
            spread = np.linalg.norm(self.weights["attn_k.weight"] * self.weights["attn_norm.weight"], axis=1)
        else:
            spread = np.tile(norm, m.num_kv_heads)
        half = len(rope.frequencies)
        pairs = (slice(0, 2 * half, 2), slice(1, 2 * half, 2)) if rope.interleaved else (slice(0, half),
                                                                                      slice(half, 2 * half))
        return pair_factors(rule, spread.reshape(heads), None if bias is None else bias.reshape(heads), pairs)

    def feed_forward(self, x, rounding):
        f = gelu_tanh if self.model.gemma else silu
        gated = f(self.linear("ffn_gate", x, rounding)) * self.linear("ffn_up", x, rounding)
        return self.linear("ffn_down", gated, rounding)

    def __call__(self, x, rounding):
        x = x + self.norm("post_attention_norm", self.attention(self.norm("attn_norm", x), rounding))
        return x + self.norm("post_ffw_norm", self.feed_forward(self.norm("ffn_norm", x), rounding))


def hidden_states(model, runs):
    """runs: [(tokens, Rounding)]. Returns per run the states before the LM head, [tokens, hidden]."""
    states = [model.embed(tokens) for tokens, _ in runs]
    for index in range(model.num_layers):
        layer = Layer(model, index)
        states = [layer(x, rounding) for x, (_, rounding) in zip(states, runs)]
    weight = model.vector("output_norm.weight")
    return [rms_norm(x, weight, model.epsilon) for x in states]


class Head:
    """The LM head: rows of hidden states -> rows of logits [rows, vocab]."""

    def __init__(self, model):
        self.weight = model.matrix(model.head_name())
        self.type = model.matrix_type(model.head_name())

    def __call__(self, x, rounding=Rounding()):
        return rounding.linear_input(x, self.type, "head") @ self.weight.T


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--tokens", required=True, help="ids, separated by commas")
    parser.add_argument("--npy", required=True, help="file for the logits, fp32 [num_tokens, vocab]")
    parser.add_argument("--double", action="store_true", help="compute in fp64")
    parser.add_argument("--simulate", default="", help="see reference_rounding.py; default: no rounding")
    args = parser.parse_args()
    model = Model(args.model, np.float64 if args.double else np.float32)
    rounding = parse_rounding(args.simulate)
    tokens = [int(t) for t in args.tokens.split(",")]
    x, = hidden_states(model, [(tokens, rounding)])
    np.save(args.npy, Head(model)(x, rounding).astype(np.float32))


if __name__ == "__main__":
    main()
