#!/usr/bin/env python3
"""Writes conversion_golden.json: FNV-1a checksums of what NumPy (and, for bfloat16, the Python package `gguf`) converts,
for tests/tensor/conversion_test.cc, which makes the same inputs. NaNs are counted as one value.
"""
import json
import pathlib

import gguf
import numpy as np
from gguf import quants

# Low halves of float32 that lie on, just below and just above the ties of both 16-bit types.
LOW = [0, 1, 0x0FFF, 0x1000, 0x1001, 0x2FFF, 0x3000, 0x3001, 0x7FFF, 0x8000, 0x8001, 0xFFFF]


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def floats(values):
    values = np.ascontiguousarray(values, dtype="<f4")
    bits = values.view("<u4").copy()
    bits[np.isnan(values)] = 0x7FC00000
    return fnv(bits.tobytes())


def halves(bits, nan):
    bits = np.ascontiguousarray(bits, dtype="<u2").copy()
    bits[nan] = 0x7FFF
    return fnv(bits.tobytes())


def splitmix(count):
    state, out = 0, np.empty(count, dtype="<u8")
    mask = 0xFFFFFFFFFFFFFFFF
    for i in range(count):
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        out[i] = z ^ z >> 31
    return out


def main():
    np.seterr(all="ignore")
    kinds = gguf.GGMLQuantizationType
    every_half = np.arange(65536, dtype="<u2")
    singles = (every_half.astype("<u4")[:, None] << 16 | np.array(LOW, dtype="<u4")).reshape(-1).view("<f4")
    nan = np.isnan(singles)
    random = splitmix(4096)
    golden = {
        "f16_to_f32": floats(every_half.view("<f2").astype("<f4")),
        "bf16_to_f32": floats(quants.dequantize(every_half.view(np.uint8).reshape(-1, 2), kinds.BF16)),
        "f32_to_f16": halves(singles.astype("<f2").view("<u2"), nan),
        "f32_to_bf16": halves(quants.quantize(singles.reshape(-1, 1), kinds.BF16).view("<u2").reshape(-1), nan),
        "F32": floats(random.view("<f4")),
        "I8": floats(random.view("<i1").astype("<f4")),
        "I16": floats(random.view("<i2").astype("<f4")),
        "I32": floats(random.view("<i4").astype("<f4")),
        "I64": floats(random.view("<i8").astype("<f4")),
        "F64": floats(random.view("<f8").astype("<f4")),
    }
    path = pathlib.Path(__file__).with_name("conversion_golden.json")
    path.write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
