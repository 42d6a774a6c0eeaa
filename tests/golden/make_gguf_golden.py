#!/usr/bin/env python3
"""Writes tests/golden/gguf/: GGUF files made by the Python package `gguf`, and expected.json with what they hold.

every_type_v3.gguf and _v2.gguf have metadata and arrays of every type and tensors of several types, one to four
dimensions; aligned_64.gguf has another alignment; big_endian.gguf is to be refused; split-0000n-of-00003.gguf is one
model in three parts.
"""
import json
import pathlib

import gguf
import numpy as np
from gguf import GGUFValueType as T
from gguf import gguf_writer, quants

FOLDER = pathlib.Path(__file__).with_name("gguf")
NAMES = {T.UINT8: "u8", T.INT8: "i8", T.UINT16: "u16", T.INT16: "i16", T.UINT32: "u32", T.INT32: "i32",
         T.FLOAT32: "f32", T.BOOL: "bool", T.STRING: "string", T.UINT64: "u64", T.INT64: "i64", T.FLOAT64: "f64"}
VALUES = {
    T.UINT8: [255, 0, 7], T.INT8: [-128, 127, -1], T.UINT16: [65535, 0, 258], T.INT16: [-32768, 32767, -2],
    T.UINT32: [2**32 - 1, 0, 65538], T.INT32: [-2**31, 2**31 - 1, -3], T.FLOAT32: [1.5, -0.15625, 2.0**-126],
    T.BOOL: [True, False, True], T.UINT64: [2**64 - 1, 0, 2**33], T.INT64: [-2**63, 2**63 - 1, -4],
    T.FLOAT64: [0.1, -1e300, 5e-324], T.STRING: ["plain", "größer ≥ 🪵\n", "", "a\0b"],
}


def metadata():
    entries = []
    for kind, values in VALUES.items():
        entries.append((f"one.{NAMES[kind]}", kind, None, values[0]))
        entries.append((f"many.{NAMES[kind]}", T.ARRAY, kind, values))
    entries.append(("text.unicode", T.STRING, None, VALUES[T.STRING][1]))
    entries.append(("llama.block_count", T.UINT32, None, 2))
    return entries


def tensors(rng):
    values = rng.normal(0, 1, (2, 3, 4, 32)).astype(np.float32)
    kinds = gguf.GGMLQuantizationType
    # Five bytes first: offsets then depend on the alignment.
    yield "one.i8", np.array([-128, 0, 127, 5, 6], dtype=np.int8), None
    yield "one.f32", values[0, 0, 0], None
    yield "two.f16", values[0, 1].astype(np.float16), None
    yield "three.q4_0", quants.quantize(values[1], kinds.Q4_0), kinds.Q4_0
    yield "four.q8_0", quants.quantize(values, kinds.Q8_0), kinds.Q8_0
    yield "two.bf16", quants.quantize(values[1, 2], kinds.BF16), kinds.BF16
    yield "two.i32", np.arange(-3, 3, dtype=np.int32).reshape(2, 3), None
    yield "one.f64", np.array([0.1, -2.5]), None
    yield "two.q6_k", rng.integers(0, 256, (2, 210), dtype=np.uint8), kinds.Q6_K


def write(name, entries, named_tensors, version=3, alignment=None, **options):
    gguf_writer.GGUF_VERSION = version
    writer = gguf.GGUFWriter(FOLDER / name, "llama", **options)
    if alignment is not None:
        writer.add_custom_alignment(alignment)
    for key, kind, sub_kind, value in entries:
        writer.add_key_value(key, value, kind, sub_kind)
    for tensor, data, kind in named_tensors:
        writer.add_tensor(tensor, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    FOLDER.mkdir(exist_ok=True)
    entries = metadata()
    all_tensors = list(tensors(np.random.default_rng(20260602)))
    write("every_type_v3.gguf", entries, all_tensors)
    write("every_type_v2.gguf", entries, all_tensors, version=2)
    write("aligned_64.gguf", entries[:4], all_tensors[:3], alignment=64)
    write("big_endian.gguf", entries[:4], all_tensors[:1], endianess=gguf.GGUFEndian.BIG)
    write("split.gguf", entries[:4], all_tensors[:6], split_max_tensors=2)
    expected = {"metadata": [{"key": "general.architecture", "type": "string", "value": "llama"}], "tensors": []}
    for key, kind, sub_kind, value in entries:
        entry = {"key": key, "type": NAMES[kind if sub_kind is None else sub_kind], "value": value}
        expected["metadata"].append(entry)
    for name, data, kind in all_tensors:
        shape = list(data.shape)
        if kind is not None:
            block, size = gguf.GGML_QUANT_SIZES[kind]
            shape[-1] = shape[-1] // size * block
        dtype = kind.name if kind is not None else {"float32": "F32", "float16": "F16", "int8": "I8", "int32": "I32",
                                                    "float64": "F64"}[str(data.dtype)]
        expected["tensors"].append({"name": name, "dtype": dtype, "shape": shape, "data": data.tobytes().hex()})
    (FOLDER / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
