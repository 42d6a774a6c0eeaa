"""`adze explain` on a real model: everything that the issue of a pass, a plan or a kernel may be about is there."""
import json
import os
import shutil
import subprocess
import xml.etree.ElementTree

import pytest

BIN = os.environ.get("ADZE_BIN")
MODEL = os.environ.get("ADZE_MODEL")
pytestmark = pytest.mark.skipif(not BIN or not MODEL, reason="ADZE_BIN or ADZE_MODEL is not set")

PASSES = ["fold_constants", "eliminate_identities", "eliminate_common_subexpressions", "eliminate_dead", "fuse_bias",
          "fuse_qkv", "fuse_gate_up", "fuse_activation", "fuse_residual", "fuse_residual_norm", "fuse_rope_kv_write",
          "quantize_activations", "fuse_norm_quantize"]


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
    assert 0 < passes[PASSES.index("quantize_activations")]["verification"]["mean_kl"] < 2e-3


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


def test_svg_draws_every_layer_once():
    svg = xml.etree.ElementTree.fromstring(explain("--format", "svg"))
    texts = [element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert "layers 0–29: 30 alike" in texts
    assert texts.count("mlp.gate+up") == 1
    assert any("Q4_1 [1536 × 576]" in text for text in texts)
    assert all(name in texts for name in PASSES)
    assert len(texts) < 200


@pytest.mark.skipif(not shutil.which("dot"), reason="Graphviz is not installed")
def test_dot_is_what_graphviz_reads():
    done = subprocess.run(["dot", "-Tsvg"], input=explain("--format", "dot"), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == ""
    titles = [e.text for e in xml.etree.ElementTree.fromstring(done.stdout).iter("{http://www.w3.org/2000/svg}title")]
    assert "cluster_1" in titles and "n0->n2" not in titles


def test_difference_tells_what_a_pass_is_worth(tmp_path):
    before = tmp_path / "before.json"
    before.write_text(explain("--format", "json"))
    assert explain("--against", str(before)) == "Nothing differs.\n"
    text = explain("--against", str(before), "--disable-pass", "fuse_qkv")
    assert "fuse_qkv: enabled true → false" in text
    assert "layers.0–29.attention.query+2: linear" in text and "linear 121 → 181" in text
    out = json.loads(explain("--against", str(before), "--disable-pass", "fuse_qkv", "--format", "json"))
    assert out["planned"] == {"linear": {"before": 121, "after": 181}}
    assert len(out["nodes"]["removed"]) == 30 and len(out["nodes"]["added"]) == 90
    assert out["barriers_per_run"]["after"] - out["barriers_per_run"]["before"] == 60
    assert out["weights"] == {}


def test_difference_refuses_what_is_no_explanation(tmp_path):
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"declared": {}}')
    done = subprocess.run([BIN, "explain", "-m", MODEL, "--against", wrong], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "wrong.json: there is no field passes" in done.stderr
    done = subprocess.run([BIN, "explain", "-m", MODEL, "--against", wrong, "--format", "svg"], capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 2 and "--against" in done.stderr
