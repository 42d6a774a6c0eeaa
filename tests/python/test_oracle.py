"""The engine's logits against the float64 oracle and against what llama.cpp answered (tests/golden)."""
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

import oracle

GOLDEN = pathlib.Path(__file__).parent.parent / "golden"
MODELS = {"smollm2": os.environ.get("ADZE_MODEL"), "gemma3": os.environ.get("ADZE_GEMMA")}
LOGITS = os.environ.get("ADZE_LOGITS")
pytestmark = pytest.mark.skipif(not LOGITS, reason="ADZE_LOGITS is not set")

INT16 = []  # the program's defaults
INT8 = ["--activations", "int8"]
FLOAT = ["--activations", "f32", "--kv-dtype", "f32"]


class Subject:
    """A model, what was recorded of it, and the oracle's logits by ids, each computed once."""

    def __init__(self, name):
        self.name, self.path = name, MODELS[name]
        self.recorded = json.loads((GOLDEN / f"llamacpp_{name}.json").read_text())
        self.oracle = oracle.Oracle(self.path)
        self.known = {}

    def exact(self, ids):
        key = tuple(ids)
        if key not in self.known:
            self.known[key] = self.oracle.logits(ids).astype(np.float32)
        return self.known[key].astype(np.float64)

    def engine_logits(self, tmp_path, ids, options, env=None):
        source, out = tmp_path / "ids", tmp_path / "logits"
        source.write_text(" ".join(map(str, ids)))
        subprocess.run([LOGITS, "-m", self.path, "--ids", source, "--out", out, *options], check=True,
                       env={**os.environ, **(env or {})})
        return np.fromfile(out, "<f4").reshape(len(ids), -1)


@pytest.fixture(scope="module", params=MODELS)
def subject(request):
    if not MODELS[request.param]:
        pytest.skip(f"no path of {request.param} is set")
    return Subject(request.param)


@pytest.mark.parametrize("index", [0, 1], ids=["jargon-text", "bible-kjv-text"])
def test_kl_divergence_on_heldout_text(index, subject, tmp_path, capsys):
    text = subject.recorded["texts"][index]
    reference = subject.exact(text["ids"])
    precise = oracle.kl_divergence(reference, subject.engine_logits(tmp_path, text["ids"], FLOAT))
    found = {}
    for name, options in (("int16", INT16), ("int8", INT8)):
        logits = subject.engine_logits(tmp_path, text["ids"], options)
        same = float((reference.argmax(-1) == logits.argmax(-1)).mean())
        found[name] = oracle.kl_divergence(reference, logits), same
    with capsys.disabled():
        print(f"\n{subject.name}, {text['name']}, {len(text['ids'])} tokens, mean KL divergence and same best token: "
              f"float32 {precise:.2e}; int16 (default) {found['int16'][0]:.2e}, {found['int16'][1]:.3f}; int8 "
              f"{found['int8'][0]:.2e}, {found['int8'][1]:.3f}")
        print(f"llama.cpp {text['llamacpp_kl']:.2e}, {text['llamacpp_same_top1']:.3f}")
    assert len(text["ids"]) >= 512
    assert precise <= 1e-6
    assert found["int16"][0] <= 2e-3
    assert found["int8"][0] <= max(2e-3, text["llamacpp_kl"])


class Comparison:
    """The engine's best tokens on recorded answers, against llama.cpp's and the oracle's."""

    def __init__(self, subject, tmp_path, field, options, isa="", answers=None):
        squares, count, margins, ours, theirs, best = 0.0, 0, [], [], [], []
        for answer in answers or subject.recorded["answers"]:
            ids = (answer["prompt_ids"] + answer[field])[:-1]
            span = slice(len(answer["prompt_ids"]) - 1, None)  # the rows that predict the answer
            reference = subject.exact(ids)[span]
            logits = subject.engine_logits(tmp_path, ids, options, {"ADZE_ISA": isa})[span].astype(np.float64)
            error = logits - reference
            error -= error.mean(-1, keepdims=True)
            squares += float((error * error).sum())
            count += error.size
            best_two = np.partition(reference, -2, axis=-1)[:, -2:]
            margins += list(best_two[:, 1] - best_two[:, 0])
            ours += list(logits.argmax(-1))
            theirs += answer[field]
            best += list(reference.argmax(-1))
        self.rms = (squares / count) ** 0.5
        self.ours, self.theirs, self.best = np.array(ours), np.array(theirs), np.array(best)
        self.clear = np.array(margins) > 4 * self.rms
        self.excluded = 1 - self.clear.mean()
        # Where the recording itself departs from what the model says beyond the margin.
        self.theirs_wrong = self.clear & (self.theirs != self.best)

    def report(self, what):
        agree = self.ours == self.theirs
        print(f"\n{what}: {len(agree)} positions, RMS error {self.rms:.3g}, excluded {self.excluded:.2%}, agreement "
              f"{agree[self.clear].mean():.2%} (with the excluded {agree.mean():.2%}); clear positions where "
              f"llama.cpp departs from the oracle: {self.theirs_wrong.sum()}")


def test_float_path_gives_llamacpps_answers(subject, tmp_path, capsys):
    found = Comparison(subject, tmp_path, "float_answer_ids", FLOAT)
    with capsys.disabled():
        found.report("float32 activations and cache, answers on the float32 model")
    assert (found.ours == found.theirs)[found.clear].all()
    assert found.excluded <= 0.05


@pytest.mark.parametrize("isa", ["reference", "avx2", "avx512", "amx"])
def test_default_path_gives_llamacpps_answers(isa, subject, tmp_path, capsys):
    needed = {"avx512": "avx512_vnni", "amx": "amx_int8"}.get(isa, "")
    if needed not in pathlib.Path("/proc/cpuinfo").read_text():
        pytest.skip(f"this CPU has no {needed}")
    chosen = subject.recorded["answers"]
    if isa == "reference":
        # The scalar kernels take a fifth of a second per token; the four shortest show what there is to see.
        chosen = sorted(chosen, key=lambda answer: len(answer["float_answer_ids"]))[:4]
    found = Comparison(subject, tmp_path, "float_answer_ids", INT16, isa, chosen)
    with capsys.disabled():
        found.report(f"int16 activations ({isa}), answers on the float32 model")
    assert (found.ours == found.theirs)[found.clear].all()
    assert found.excluded <= 0.05


def test_default_path_on_llamacpps_rounded_answers(subject, tmp_path, capsys):
    """On the same file llama.cpp rounds activations to int8: there it leaves the oracle beyond our margin, we do not."""
    found = Comparison(subject, tmp_path, "answer_ids", INT16)
    with capsys.disabled():
        found.report("int16 activations, answers on the same file")
    assert (found.ours == found.best)[found.clear].all()
    assert (found.ours == found.theirs)[found.clear & ~found.theirs_wrong].all()
    assert found.excluded <= 0.05
