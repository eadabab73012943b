#!/usr/bin/env python3
"""Writes tests/golden/written_by_gguf.gguf with the `gguf` Python package: a file that brio's own writer had no part in.

    python3 -m venv v && v/bin/pip install numpy gguf && v/bin/python tools/gguf_oracle.py

gguf_test.cc spells out what must be read from it.
"""
from pathlib import Path

import gguf
import numpy as np


def main() -> None:
    out = Path(__file__).resolve().parent.parent / "tests" / "golden" / "written_by_gguf.gguf"
    writer = gguf.GGUFWriter(out, "llama")
    writer.add_uint8("a.u8", 200)
    writer.add_int8("a.i8", -100)
    writer.add_uint16("a.u16", 60000)
    writer.add_int16("a.i16", -30000)
    writer.add_uint32("a.u32", 4_000_000_000)
    writer.add_int32("a.i32", -2_000_000_000)
    writer.add_float32("a.f32", 0.1)
    writer.add_bool("a.bool", True)
    writer.add_string("a.string", "grüße")
    writer.add_uint64("a.u64", 2**64 - 1)
    writer.add_int64("a.i64", -(2**63))
    writer.add_float64("a.f64", 0.1)
    writer.add_array("b.strings", ["one", "", "drei"])
    writer.add_array("b.integers", [1, -2, 3])
    writer.add_array("b.floats", [0.5, -0.25])
    writer.add_array("b.bools", [True, False])
    writer.add_tensor("matrix", np.arange(6, dtype=np.float32).reshape(2, 3))
    writer.add_tensor("vector", np.array([1.5, -2.0], np.float16))
    writer.add_tensor("cube", np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    ramp = np.linspace(-1, 1, 64, dtype=np.float32).reshape(2, 32)
    writer.add_tensor("blocks", gguf.quants.quantize(ramp, gguf.GGMLQuantizationType.Q8_0),
                      raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{out}: {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
