"""`adze bench`: what it says it measured, against figures computed from the shapes by hand."""
import json
import os
import statistics
import subprocess

import pytest

BIN = os.environ.get("ADZE_BIN")
pytestmark = pytest.mark.skipif(not BIN, reason="ADZE_BIN is not set")
QUICK = ["--prompt", "32", "--decode", "4", "--depth", "32", "--sequences", "2", "--repeats", "2"]

# SmolLM2-135M: 30 layers, 576 wide, 9 heads and 3 key heads of 64, 1536 hidden, 49152 tokens, tied.
LAYER = 2 * 576 * 576 + 2 * 192 * 576 + 3 * 1536 * 576
HEAD = 49152 * 576


def bench(*arguments, **environment):
    return subprocess.run([BIN, "bench", *arguments], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **environment})


def report(*arguments):
    done = bench(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# Bits of a packed weight: codes and a 16-bit scale for 32 of them, or two floats of 16 bits.
@pytest.mark.parametrize("kind, bits", [("q4_0", 4.5), ("q4_1", 5), ("q8_0", 8.5), ("bf16", 16)])
def test_work_is_that_of_the_shape(kind, bits):
    out = report("--random", f"smollm2-135m:{kind}", "--prompt", "8", "--decode", "0", "--depth", "0", "--sequences", "0",
                 "--repeats", "1")
    assert out["operations_per_row"] == 2 * 30 * LAYER
    assert out["operations_per_sampled_row"] == 2 * HEAD
    assert out["weight_bytes"] == (30 * LAYER + HEAD) * bits / 8
    assert [case["name"] for case in out["cases"]] == ["pp8"]
    assert out["cases"][0]["limit"] == ("f32" if kind == "bf16" else "int8")


def test_shares_follow_from_rates_and_limits():
    out = report("--random", "smollm2-135m:q4_0", *QUICK)
    assert [case["name"] for case in out["cases"]] == ["pp32", "tg4", "tg32 at 32", "tg64 × 2"]
    limits = out["limits"]
    for case in out["cases"]:
        assert len(case["repeats"]) == 2 and min(case["repeats"]) > 0
        assert case["tokens_per_second"] == pytest.approx(statistics.median(case["repeats"]))
        rate = case["tokens_per_second"]
        sampled = out["operations_per_sampled_row"] / (32 if case["name"] == "pp32" else 1)
        multiplied = rate * (out["operations_per_row"] + sampled) / limits["int8_operations_per_second"]
        together = 2 if case["name"].endswith("× 2") else 1
        read = 0 if case["name"] == "pp32" else rate / together * out["weight_bytes"] / limits["read_bytes_per_second"]
        assert case["share"] == pytest.approx(max(multiplied, read))
        assert case["limit"] == ("read" if read > multiplied else "int8")
    assert {"linear", "attention", "rms_norm"} <= {timed["op"] for timed in out["operators"]}
    assert out["peak_resident_bytes"] > out["weight_bytes"]


def test_the_report_has_a_line_for_each_case():
    done = bench("--random", "smollm2-135m:q8_0", *QUICK, ADZE_ISA="avx2")
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("random smollm2-135m:q8_0 · ")
    assert "avx2" in done.stdout and "Limits measured: reading 142 MB " in done.stdout
    for name in ("pp32", "tg4", "tg32 at 32", "tg64 × 2"):
        assert f"\n  {name} " in done.stdout
    assert "Time of pp32 by operator: linear " in done.stdout


@pytest.mark.parametrize("arguments, status, message", [
    ([], 2, "give either --model or --random"),
    (["--random", "smollm2-135m:q4_0", "-m", "x.gguf"], 2, "give either --model or --random"),
    (["--random", "smollm3:q4_0"], 1, "no shape is named 'smollm3'"),
    (["--random", "smollm2-135m:q9_0"], 1, "'q9_0'"),
    (["--random", "smollm2-135m"], 1, "smollm2-135m"),
    (["--random", "smollm2-135m:q4_k"], 1, "576"),
    (["--random", "smollm2-135m:q4_0", "--repeats", "0"], 2, "--repeats"),
    (["--random", "smollm2-135m:q4_0", "--prompt", "-1"], 2, "--prompt"),
    (["--random", "smollm2-135m:q4_0", "--prompt", "1e9"], 2, "--prompt"),
])
def test_what_cannot_be_measured_is_one_line(arguments, status, message):
    done = bench(*arguments)
    assert done.returncode == status and done.stdout == "", done.stdout
    assert message in done.stderr
    assert done.stderr.splitlines()[0].startswith("adze: ")
