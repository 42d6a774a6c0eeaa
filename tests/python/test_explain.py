"""`adze explain` on a real model: everything that the issue of a pass, a plan or a kernel may be about is there."""
import json
import os
import subprocess

import pytest

BIN = os.environ.get("ADZE_BIN")
MODEL = os.environ.get("ADZE_MODEL")
pytestmark = pytest.mark.skipif(not BIN or not MODEL, reason="ADZE_BIN or ADZE_MODEL is not set")

PASSES = ["fold_constants", "eliminate_identities", "eliminate_dead", "fuse_qkv", "fuse_gate_up", "fuse_residual",
          "fuse_rope_kv_write", "quantize_activations", "fuse_norm_quantize"]


def explain(*arguments):
    done = subprocess.run([BIN, "explain", "-m", MODEL, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_pass_keeps_its_promise():
    passes = json.loads(explain("--verify", "--format", "json"))["passes"]
    assert [p["name"] for p in passes] == PASSES
    for p in passes:
        check = p["verification"]
        assert check["holds"] and check["rows"] == 40
        # Only what rounds on purpose may change a bit.
        assert check["bit_identical"] == (p["name"] != "quantize_activations")
        assert p["exactness"] == ("approximate" if p["name"] == "quantize_activations" else "bit-identical")
    assert 0 < passes[7]["verification"]["mean_kl"] < 2e-3


def test_counts_kernels_and_memory():
    out = json.loads(explain("--format", "json"))
    assert out["declared"]["linear"] == 211 and out["planned"]["linear"] == 121
    for p in out["passes"]:
        assert p["nodes_before"] == sum(p["operators_before"].values())
        assert p["nodes_after"] == sum(p["operators_after"].values())
    kernels = {node["operator"]: node["kernels"] for node in out["nodes"]}
    assert "int16" in kernels["linear"] and "bf16" in kernels["attention"]
    assert all(node["provider"] == "cpu" for node in out["nodes"])
    assert out["memory"]["peak_bytes"] < out["memory"]["naive_bytes"] / 10
    assert out["weights"]["bytes"] == sum(kind["bytes"] for kind in out["weights"]["by_dtype"])


def test_what_is_left_alone_has_a_reason():
    passes = {p["name"]: p for p in json.loads(explain("--format", "json"))["passes"]}
    rejections = passes["fuse_norm_quantize"]["rejections"]
    assert len(rejections) == 60
    assert {r["reason"] for r in rejections} == {"its input does not come from a norm"}
    passes = {p["name"]: p for p in json.loads(explain("--format", "json", "--activations", "f32"))["passes"]}
    assert passes["quantize_activations"]["changes"] == []
    assert "float32 activations" in passes["quantize_activations"]["rejections"][0]["reason"]
    text = explain("--disable-pass", "fuse_qkv")
    assert "fuse_qkv" in text and "3 linears" not in text


def test_text_is_short_however_many_layers():
    text = explain()
    assert len(text.splitlines()) < 200
    assert "layers.0–29.mlp.gate+up" in text
    assert len(explain("--every-layer").splitlines()) > 1000
