"""Models of many shapes, with random weights, against the float64 oracle: what one checkpoint cannot show."""
import os
import subprocess

import gguf
import numpy as np
import pytest
from gguf import quants

import oracle
from gguf_bytes import ARRAY, INT32, STRING, UINT32, byte_tokens, tiny_model

LOGITS = os.environ.get("ADZE_LOGITS")
pytestmark = pytest.mark.skipif(not LOGITS, reason="ADZE_LOGITS is not set")

FLOAT = ["--activations", "f32", "--kv-dtype", "f32"]
CACHES = {"f32": 5e-4, "bf16": 0.012, "int8": 0.05}  # largest error of a logit, in standard deviations of the logits


def random_model(path, hidden, heads, kv_heads, head_dim, ffn, layers=1, extra_tokens=0, types=("F32",), tied=True):
    """Writes a model whose matrices take the `types` in turn."""
    numbers = np.random.default_rng(hidden + heads + head_dim + ffn)
    model = tiny_model()
    model.tensors = {}
    for key, value in {"block_count": layers, "embedding_length": hidden, "feed_forward_length": ffn,
                       "attention.head_count": heads, "attention.head_count_kv": kv_heads,
                       "attention.key_length": head_dim, "rope.dimension_count": head_dim,
                       "context_length": 1024}.items():
        model.set("llama." + key, UINT32, value)
    tokens = byte_tokens() + ["th", "<|im_end|>"] + [f"extra{i}" for i in range(extra_tokens)]
    model.set("tokenizer.ggml.tokens", ARRAY, (STRING, tokens))
    model.set("tokenizer.ggml.token_type", ARRAY, (INT32, [1] * 257 + [3] + [1] * extra_tokens))

    def matrix(name, rows, columns, deviation):
        kind = gguf.GGMLQuantizationType[types[len(model.tensors) % len(types)]]
        if columns % gguf.GGML_QUANT_SIZES[kind][0] != 0:
            kind = gguf.GGMLQuantizationType.F32
        values = numbers.normal(0, deviation, (rows, columns)).astype(np.float32)
        model.add_tensor(name, [columns, rows], int(kind), quants.quantize(values, kind).tobytes())

    def vector(name):
        values = numbers.normal(1, 0.2, hidden).astype(np.float32)
        model.add_tensor(name, [hidden], 0, values.tobytes())

    matrix("token_embd.weight", len(tokens), hidden, 1)
    vector("output_norm.weight")
    if not tied:
        matrix("output.weight", len(tokens), hidden, hidden**-0.5)
    for layer in range(layers):
        block = f"blk.{layer}."
        vector(block + "attn_norm.weight")
        vector(block + "ffn_norm.weight")
        for name, rows, columns in (("attn_q", heads * head_dim, hidden), ("attn_k", kv_heads * head_dim, hidden),
                                    ("attn_v", kv_heads * head_dim, hidden), ("attn_output", hidden, heads * head_dim),
                                    ("ffn_gate", ffn, hidden), ("ffn_up", ffn, hidden), ("ffn_down", hidden, ffn)):
            matrix(f"{block}{name}.weight", rows, columns, columns**-0.5)
    path.write_bytes(model.bytes())


def engine_logits(folder, ids, *options):
    (folder / "ids").write_text(" ".join(map(str, ids)))
    subprocess.run([LOGITS, "-m", folder / "model.gguf", "--ids", folder / "ids", "--out", folder / "logits", *options],
                   check=True)
    return np.fromfile(folder / "logits", "<f4").reshape(len(ids), -1)


SHAPES = {
    "one head": dict(hidden=32, heads=1, kv_heads=1, head_dim=16, ffn=48),
    "a key head for all": dict(hidden=64, heads=7, kv_heads=1, head_dim=32, ffn=96, layers=2),
    "a key head for each": dict(hidden=96, heads=6, kv_heads=6, head_dim=16, ffn=64, layers=2),
    "three to one": dict(hidden=192, heads=9, kv_heads=3, head_dim=64, ffn=160, types=("Q4_1",)),
    "sixteen to one": dict(hidden=64, heads=16, kv_heads=1, head_dim=16, ffn=32, types=("Q8_0",)),
    "heads of 80": dict(hidden=160, heads=2, kv_heads=1, head_dim=80, ffn=224, types=("Q4_0",)),
    "heads of 96": dict(hidden=96, heads=2, kv_heads=2, head_dim=96, ffn=128, types=("F16",)),
    "heads of 128": dict(hidden=64, heads=4, kv_heads=2, head_dim=128, ffn=64, types=("BF16",)),
    "heads of 256": dict(hidden=64, heads=2, kv_heads=1, head_dim=256, ffn=64, types=("Q5_1",)),
    "heads wider than the model": dict(hidden=32, heads=8, kv_heads=4, head_dim=64, ffn=32, types=("Q8_0",)),
    "odd widths": dict(hidden=37, heads=3, kv_heads=3, head_dim=16, ffn=53, extra_tokens=3, layers=2),
    "odd widths in 16 bits": dict(hidden=45, heads=2, kv_heads=1, head_dim=32, ffn=19, types=("F16", "BF16")),
    "an output of its own": dict(hidden=64, heads=2, kv_heads=2, head_dim=32, ffn=96, tied=False, types=("Q5_0",)),
    "types mixed in a layer": dict(hidden=256, heads=4, kv_heads=2, head_dim=64, ffn=288, layers=2, extra_tokens=41,
                                   types=("Q4_1", "Q8_0", "F16", "Q4_0", "Q5_0", "F32", "BF16"), tied=False),
    "few feed-forward channels": dict(hidden=64, heads=4, kv_heads=2, head_dim=16, ffn=1),
}


@pytest.mark.parametrize("name", SHAPES)
def test_logits_equal_the_oracles(tmp_path, name):
    random_model(tmp_path / "model.gguf", **SHAPES[name])
    ids = np.random.default_rng(5).integers(0, 256, 300).tolist()  # more than a segment of attention, ten blocks
    exact = oracle.Oracle(tmp_path / "model.gguf").logits(ids)
    spread = exact.std()
    for chunk in ("300", "1", "33"):
        error = np.abs(engine_logits(tmp_path, ids, "--chunk", chunk, *FLOAT) - exact).max()
        assert error < 2e-5 * spread, f"float32, chunks of {chunk}: {error / spread}"
    for cache, limit in CACHES.items():
        error = np.abs(engine_logits(tmp_path, ids, "--kv-dtype", cache) - exact).max()
        assert error < limit * spread, f"int16, {cache} cache: {error / spread}"
