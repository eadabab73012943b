"""What storing and rounding costs: simulated on top of the exact forward pass of reference.py.

    kv=bf16            keys, values, queries and probabilities rounded to bf16 (f16 likewise)
    k= v= q= p=        each alone: bf16 or f16; k, v also s8: 8 bits, one scale amax/127 per token and head; q also s16:
                       16 bits, one scale per row and head; p s16 (with v=s8): probabilities times the values' scales, 16
                       bits, one scale per row, head and split of 256 keys
    key_factor=RULE    k=s8: keys are divided, queries multiplied by a factor per pair of channels: bias, weights (see
                       pair_factors)
    activations=s8     inputs of linear layers with quantised weights: 8 bits, one scale amax/127 per 32
    key_bias=exact     keys stored without their bias, q . rotated(bias) added exactly
    exact=NAME+NAME    linear layers that activations=s8 spares: attn_{q,k,v,output}, ffn_{gate,up,down}, head
    split_channels=N   of each KV head's key the N channel pairs with the largest bias stored as high + low part
"""
import dataclasses

import numpy as np


def to_bf16(x):
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16  # to nearest, ties to even
    return bits.astype(np.uint32).view(np.float32).astype(np.asarray(x).dtype)


def to_f16(x):
    return x.astype(np.float16).astype(x.dtype)


def quantise_s8(x, group=32):
    rows, width = x.shape
    padded = np.zeros((rows, -(-width // group) * group), np.float32)
    padded[:, :width] = x
    groups = padded.reshape(rows, -1, group)
    amax = np.abs(groups).max(axis=2, keepdims=True)
    scale = amax / np.float32(127)
    inverse = np.divide(np.float32(127), amax, out=np.zeros_like(amax), where=amax > 0)
    return (np.rint(groups * inverse) * scale).reshape(rows, -1)[:, :width].astype(x.dtype)


def quantise_heads(x, levels):
    """One scale per token and head, [tokens, heads, dim]."""
    amax = np.abs(x).max(axis=2, keepdims=True)
    scale = np.where(amax > 0, amax, 1) / x.dtype.type(levels)
    return np.rint(x / scale) * scale


ROUND = {"": lambda x: x, "f32": lambda x: x, "bf16": to_bf16, "f16": to_f16, "s8": lambda x: quantise_heads(x, 127),
         "s16": lambda x: quantise_heads(x, 32512)}


def pair_means(squares, pairs):
    """squares [heads, dim] -> the mean over the two channels of each pair, at both."""
    out = squares.copy()
    first, second = pairs
    out[:, first] = out[:, second] = (squares[:, first] + squares[:, second]) / 2
    return out


def pair_factors(rule, spread, bias, pairs):
    """[kv_heads, dim]: how large a channel of the keys is expected to be. spread, bias [kv_heads, dim]: its standard
    deviation for inputs of independent channels, and its mean before rotation (or None). Rule weights: the mean over the
    pair of bias^2 + (4 spread)^2, or of another multiple of the spread: weights3. Rule bias: |bias|, at least its median."""
    squares = pair_means(bias ** 2, pairs) if bias is not None else 0 * spread
    if rule == "bias":
        squares = np.maximum(squares, np.median(squares, axis=1, keepdims=True))
        squares = np.where(squares > 0, squares, 1)
    else:
        squares = squares + float(rule.removeprefix("weights") or 4) ** 2 * pair_means(spread ** 2, pairs)
    factors = np.sqrt(squares)
    return np.where(factors > 0, factors, 1)


@dataclasses.dataclass
class Rounding:
    k: str = ""
    v: str = ""
    q: str = ""
    p: str = ""
    activations: str = ""
    key_bias: str = ""
    key_factor: str = ""
    split_channels: int = 0
    exact: tuple = ()

    def linear_input(self, x, weight_type, layer_name):
        if self.activations == "s8" and weight_type not in ("F32", "F16", "BF16") and layer_name not in self.exact:
            return quantise_s8(x)
        return x

    def values(self, v):
        return ROUND[self.v](v)

    def weigh(self, p, v):
        """p [queries, keys] times v [keys, dim]."""
        if self.p != "s16":
            return ROUND[self.p](p) @ v
        unit = np.abs(v).max(axis=1) / v.dtype.type(127)  # of the values as s8
        integers = v / np.where(unit > 0, unit, 1)[:, None]
        out = 0
        for begin in range(0, len(v), 256):
            split = slice(begin, begin + 256)
            weights = quantise_heads((p[:, split] * unit[split])[:, None, :], 32512)[:, 0]
            out = out + weights @ integers[split]
        return out

    def keys(self, k, rotated_bias):
        """k [tokens, kv_heads, dim] -> what scores() takes: [(rounds q?, part of k)]."""
        if self.key_bias == "exact" and rotated_bias is not None:
            return [(True, ROUND[self.k](k - rotated_bias)), (False, rotated_bias)]
        if self.split_channels and rotated_bias is not None:
            return [(True, self.split(k, rotated_bias))]
        return [(True, ROUND[self.k](k))]

    def scores(self, q, keys):
        """The (q, k) pairs whose products add up to the scores."""
        return [(ROUND[self.q](q) if rounds_q else q, k) for rounds_q, k in keys]

    def split(self, k, rotated_bias):
        stored = ROUND[self.k](k)
        half = k.shape[2] // 2
        size = np.hypot(rotated_bias[0, :, :half], rotated_bias[0, :, half:])  # rotation keeps it
        for head in range(k.shape[1]):
            pairs = np.argsort(-size[head])[:self.split_channels]
            for channel in np.concatenate([pairs, pairs + half]):
                exact = k[:, head, channel]
                high = ROUND[self.k](exact)
                stored[:, head, channel] = high + ROUND[self.k](exact - high)
        return stored


def parse_rounding(text):
    fields = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        if name == "kv":
            fields.update(k=value, v=value, q=value, p=value)
        elif name == "split_channels":
            fields[name] = int(value)
        elif name == "exact":
            fields[name] = tuple(value.split("+"))
        else:
            fields[name] = value
    return Rounding(**fields)
