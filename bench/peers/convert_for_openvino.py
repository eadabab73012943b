#!/usr/bin/env python3
"""Rewrites a GGUF file so that OpenVINO's reader can load it: types that it does not know become Q8_0.

    build/venv-peers/bin/python bench/peers/convert_for_openvino.py MODEL.gguf OUT.gguf

The rest is copied byte for byte. Prints what grew: a peer that streams more bytes per token is slower for it, and that
belongs beside its numbers. Architectures that the reader does not know (gemma3) are refused.
"""
import argparse
import sys

import gguf
from gguf import GGMLQuantizationType as Type

READABLE = {Type.F32, Type.F16, Type.Q4_0, Type.Q4_1, Type.Q4_K, Type.Q6_K, Type.Q8_0}
ARCHITECTURES = {"llama", "qwen2", "qwen3"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("out")
    args = parser.parse_args()
    reader = gguf.GGUFReader(args.model)
    architecture = reader.fields["general.architecture"].contents()
    if architecture not in ARCHITECTURES:
        sys.exit(f"{args.model}: OpenVINO's GGUF reader knows {', '.join(sorted(ARCHITECTURES))}, not {architecture}")
    writer = gguf.GGUFWriter(args.out, architecture)
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        kind = field.types[0]
        writer.add_key_value(name, field.contents(), kind, field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
    before = after = 0
    for tensor in reader.tensors:
        data, kind = tensor.data, tensor.tensor_type
        before += data.nbytes
        if kind not in READABLE:
            data, kind = gguf.quants.quantize(gguf.quants.dequantize(data, kind), Type.Q8_0), Type.Q8_0
        after += data.nbytes
        writer.add_tensor(tensor.name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{args.out}: {after / before:.2f} x the bytes of {args.model}")


if __name__ == "__main__":
    main()
