#!/usr/bin/env python3
"""Writes dtype_golden.bin: blocks of every quantized type with the values that the Python package `gguf` decodes,
and float rows with the blocks that it encodes.

Records, little-endian: u8 name length, name, u8 kind (0 decode, 1 encode), u32 byte count, bytes, u32 float count,
floats.
"""
import pathlib
import struct

import gguf
import numpy as np
from gguf import quants

TYPES = ["F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K",
         "IQ4_NL", "IQ4_XS", "MXFP4"]
# Byte offsets of the 16-bit floats in a block: random bytes there would give NaN now and then.
HALF_OFFSETS = {"F16": [0], "BF16": [], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0],
                "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0],
                "IQ4_XS": [0], "MXFP4": []}
BLOCKS = 12


def record(name, kind, data, floats):
    data = np.ascontiguousarray(data).tobytes()
    floats = np.ascontiguousarray(floats, dtype="<f4")
    return (struct.pack("<B", len(name)) + name.encode() + struct.pack("<BI", kind, len(data)) + data
            + struct.pack("<I", floats.size) + floats.tobytes())


def main():
    rng = np.random.default_rng(20260601)
    out = b""
    for name in TYPES:
        qtype = gguf.GGMLQuantizationType[name]
        size = gguf.GGML_QUANT_SIZES[qtype][1]
        blocks = rng.integers(0, 256, (BLOCKS, size), dtype=np.uint8)
        for offset in HALF_OFFSETS[name]:
            halves = rng.normal(0, 0.05, BLOCKS).astype("<f2")
            blocks[:, offset:offset + 2] = halves.view(np.uint8).reshape(-1, 2)
        if name == "BF16":
            blocks = (rng.normal(0, 3, BLOCKS).astype("<f4").view("<u4") >> 16).astype("<u2").view(np.uint8)
            blocks = blocks.reshape(BLOCKS, 2)
        if name == "MXFP4":
            blocks[:, 0] = rng.integers(0, 200, BLOCKS)
        out += record(name, 0, blocks, quants.dequantize(blocks, qtype).astype(np.float32))
    for name in ["F16", "BF16", "Q4_0", "Q4_1", "Q8_0"]:
        qtype = gguf.GGMLQuantizationType[name]
        values = rng.normal(0, 1, (8, 32)).astype(np.float32)
        values[1] = 0
        values[2] *= 1e-6
        values[3] *= 1000
        values[4] = np.round(values[4] * 4) / 4
        out += record(name, 1, quants.quantize(values, qtype), values)
    path = pathlib.Path(__file__).with_name("dtype_golden.bin")
    path.write_bytes(out)
    print(f"{path}: {len(out)} bytes, gguf {gguf.__name__}, numpy {np.__version__}")


if __name__ == "__main__":
    main()
