"""The engine's logits against the float64 oracle and against what llama.cpp answered (tests/golden)."""
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

import oracle

GOLDEN = pathlib.Path(__file__).parent.parent / "golden" / "llamacpp_smollm2.json"
MODEL = os.environ.get("ADZE_MODEL")
LOGITS = os.environ.get("ADZE_LOGITS")
pytestmark = pytest.mark.skipif(not MODEL or not LOGITS, reason="ADZE_MODEL or ADZE_LOGITS is not set")

RECORDED = json.loads(GOLDEN.read_text())
INT8 = []  # the program's defaults
FLOAT = ["--activations", "f32", "--kv-dtype", "f32"]


@pytest.fixture(scope="module")
def exact():
    """Oracle logits by ids, each computed once."""
    model = oracle.Oracle(MODEL)
    known = {}

    def logits(ids):
        key = tuple(ids)
        if key not in known:
            known[key] = model.logits(ids)
        return known[key]

    return logits


def engine_logits(tmp_path, ids, options, env=None):
    source, out = tmp_path / "ids", tmp_path / "logits"
    source.write_text(" ".join(map(str, ids)))
    subprocess.run([LOGITS, "-m", MODEL, "--ids", source, "--out", out, *options], check=True,
                   env={**os.environ, **(env or {})})
    return np.fromfile(out, "<f4").reshape(len(ids), -1)


@pytest.mark.parametrize("text", RECORDED["texts"], ids=lambda text: text["name"])
def test_kl_divergence_on_heldout_text(text, exact, tmp_path, record_property, capsys):
    reference = exact(text["ids"])
    precise = oracle.kl_divergence(reference, engine_logits(tmp_path, text["ids"], FLOAT))
    fast_logits = engine_logits(tmp_path, text["ids"], INT8)
    fast = oracle.kl_divergence(reference, fast_logits)
    same = float((reference.argmax(-1) == fast_logits.argmax(-1)).mean())
    with capsys.disabled():
        print(f"\n{text['name']}, {len(text['ids'])} tokens: KL float32 {precise:.2e}; int8 {fast:.2e}, same best "
              f"{same:.3f}; llama.cpp {text['llamacpp_kl']:.2e}, {text['llamacpp_same_top1']:.3f}")
    assert len(text["ids"]) == 512
    assert precise <= 1e-6
    assert fast <= max(2e-3, text["llamacpp_kl"])


def answer_rows(answer):
    """All ids, and the rows whose prediction is a token of the answer."""
    ids = answer["prompt_ids"] + answer["answer_ids"]
    first = len(answer["prompt_ids"]) - 1
    return ids[:-1], slice(first, len(ids) - 1)


@pytest.mark.parametrize("isa", ["", "reference", "avx2", "avx512"])
def test_best_token_is_llamacpps_beyond_the_margin(isa, exact, tmp_path, capsys):
    if isa == "avx512" and "avx512_vnni" not in pathlib.Path("/proc/cpuinfo").read_text():
        pytest.skip("this CPU has no AVX-512 VNNI")
    # The scalar kernels take a tenth of a second per token: three answers show what there is to see.
    answers = RECORDED["answers"][:3] if isa == "reference" else RECORDED["answers"]
    squares, count, rows = 0.0, 0, []
    for answer in answers:
        ids, span = answer_rows(answer)
        reference = exact(ids)[span]
        ours = engine_logits(tmp_path, ids, INT8, {"ADZE_ISA": isa})[span].astype(np.float64)
        error = ours - reference
        error -= error.mean(-1, keepdims=True)
        squares += float((error * error).sum())
        count += error.size
        best_two = np.partition(reference, -2, axis=-1)[:, -2:]
        rows += list(zip(best_two[:, 1] - best_two[:, 0], ours.argmax(-1), answer["answer_ids"]))
    rms = (squares / count) ** 0.5
    margins = np.array([row[0] for row in rows])
    agree = np.array([row[1] == row[2] for row in rows])
    clear = margins > 4 * rms
    with capsys.disabled():
        print(f"\nISA {isa or 'best'}: {len(rows)} positions, RMS error {rms:.4f}, excluded {1 - clear.mean():.4f}, "
              f"agreement {agree[clear].mean():.4f} (with the excluded {agree.mean():.4f})")
    assert agree[clear].all()
    assert 1 - clear.mean() <= 0.05
