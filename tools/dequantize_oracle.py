#!/usr/bin/env python3
"""Writes tests/golden/dequantize.bin: blocks of every tensor type and their values by the `gguf` Python package.

    python3 -m venv v && v/bin/pip install numpy gguf && v/bin/python tools/dequantize_oracle.py [MODEL.gguf ...]

Record: name (16 bytes, zero padded), u32 number of blocks, u32 bytes per block, the blocks, their values as f32. Blocks are
random bytes whose f16 scale fields run through a list of extreme and ordinary finite values (so no value is NaN).
Where the model files given have tensors of a type, two of their blocks are added.
"""
import struct
import sys
from pathlib import Path

import gguf
import numpy as np

# type -> byte offsets of the f16 fields in a block
F16_FIELDS = {
    "F32": [], "F16": [0], "BF16": [], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0],
    "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0],
}
SCALES = [65504.0, -65504.0, 2.0**-24, -(2.0**-24), 2.0**-14, 1023 * 2.0**-24, 0.0, -0.0, 1.0, -0.3333, 0.01234, 7.0]


def random_blocks(name: str, rng: np.random.Generator) -> np.ndarray:
    kind = gguf.GGMLQuantizationType[name]
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    count = 64 if elements == 1 else 16 if elements == 32 else 6
    blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
    if name == "F32":
        blocks = rng.standard_normal(count).astype(np.float32).view(np.uint8).reshape(count, 4).copy()
    if name == "BF16":
        blocks[:, 1] &= 0xBE  # keeps the exponent from being all ones
    for field, offset in enumerate(F16_FIELDS[name]):
        picks = [SCALES[(i + 5 * field) % len(SCALES)] if elements > 1 and i < len(SCALES) else float(rng.normal())
                 for i in range(count)]
        blocks[:, offset:offset + 2] = np.array(picks, np.float16).view(np.uint8).reshape(count, 2)
    if name == "F16":
        blocks[: len(SCALES)] = np.array(SCALES, np.float16).view(np.uint8).reshape(-1, 2)
    return blocks


def real_blocks(paths: list[str], name: str, want: int) -> list[np.ndarray]:
    kind, found = gguf.GGMLQuantizationType[name], []
    size = gguf.GGML_QUANT_SIZES[kind][1]
    for path in paths:
        for tensor in gguf.GGUFReader(path).tensors:
            if tensor.tensor_type == kind and len(found) < want:
                flat = np.asarray(tensor.data).view(np.uint8).reshape(-1, size)
                found.append(flat[len(flat) // 2])
    return found


def main() -> None:
    rng = np.random.default_rng(3)
    out = Path(__file__).resolve().parent.parent / "tests" / "golden" / "dequantize.bin"
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("wb") as file:
        for name in F16_FIELDS:
            blocks = random_blocks(name, rng)
            real = real_blocks(sys.argv[1:], name, 2) if blocks.shape[1] > 4 else []
            blocks = np.vstack([blocks, *real])
            values = gguf.quants.dequantize(blocks.copy(), gguf.GGMLQuantizationType[name]).astype(np.float32)
            assert np.isfinite(values).all(), name
            file.write(struct.pack("<16sII", name.encode(), *blocks.shape))
            file.write(blocks.tobytes())
            file.write(values.tobytes())
    print(f"{out}: {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
