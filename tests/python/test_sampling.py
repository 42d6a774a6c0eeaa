"""Sampling options of `adze run` against their definitions in NumPy, over the same model's teacher-forced logits."""
import json
import os
import subprocess

import numpy as np
import pytest

BIN = os.environ.get("ADZE_BIN")
MODEL = os.environ.get("ADZE_MODEL")
LOGITS = os.environ.get("ADZE_LOGITS")
pytestmark = pytest.mark.skipif(not (BIN and MODEL and LOGITS), reason="ADZE_BIN, ADZE_MODEL or ADZE_LOGITS is not set")

PROMPT = [504, 2644, 2643, 335, 260, 1171, 28, 284, 260, 2767]  # "The cat sat on the mat, and the dog"
NO_FILTERS = {"--top-k": "0", "--top-p": "1", "--min-p": "0"}


def adze(*options):
    ids = " ".join(map(str, PROMPT))
    return subprocess.run([BIN, "run", "-m", MODEL, "-p", ids, "--prompt-ids", "--ignore-eos", *options],
                          capture_output=True, text=True, timeout=120)


def run(*options):
    done = adze("--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def steps(tmp_path):
    """For an answer: what stood before each of its tokens, and the float64 logits there."""
    def of(tokens):
        ids, out = tmp_path / "ids", tmp_path / "logits"
        everything = PROMPT + tokens
        ids.write_text(" ".join(map(str, everything)))
        subprocess.run([LOGITS, "-m", MODEL, "--ids", ids, "--out", out], check=True)
        logits = np.fromfile(out, "<f4").reshape(len(everything), -1).astype(np.float64)
        return [(everything[:i], logits[i - 1]) for i in range(len(PROMPT), len(everything))]
    return of


def log_softmax(logits):
    shifted = logits - logits.max()
    return shifted - np.log(np.exp(shifted).sum())


def test_log_probabilities_are_the_models_own(steps):
    answer = run("-n", "12", "--temp", "1.3", "--seed", "4", "--frequency-penalty", "1", "--logprobs", "5",
                 "--logit-bias", f"{PROMPT[0]}=3")
    assert len(answer["logprobs"]) == len(answer["tokens"]) == 12
    for (_, logits), token, told in zip(steps(answer["tokens"]), answer["tokens"], answer["logprobs"]):
        expected = log_softmax(logits)
        assert told["token"] == token
        assert told["logprob"] == pytest.approx(expected[token], abs=1e-9)
        best = np.argsort(-expected, kind="stable")[:5]
        assert [entry["token"] for entry in told["top_logprobs"]] == best.tolist()
        assert [entry["logprob"] for entry in told["top_logprobs"]] == pytest.approx(expected[best].tolist(), abs=1e-9)
    assert "".join(entry["text"] for entry in answer["logprobs"]) == answer["text"]


def test_log_probabilities_of_the_chosen_alone():
    answer = run("-n", "3", "--temp", "0", "--logprobs", "0")
    assert [entry["top_logprobs"] for entry in answer["logprobs"]] == [[], [], []]
    assert "logprobs" not in run("-n", "1", "--temp", "0")


@pytest.mark.parametrize("repetition, frequency, presence, window", [
    (1.0, 0.0, 0.0, -1), (1.4, 0.0, 0.0, -1), (1.0, 1.5, 0.0, -1), (1.0, 0.0, 2.0, -1), (1.2, 0.5, -0.7, -1),
    (1.4, 0.9, 0.3, 5), (1.4, 0.9, 0.3, 0),
])
def test_penalties_decide_greedy_answers(steps, repetition, frequency, presence, window):
    answer = run("-n", "24", "--temp", "0", "--repeat-penalty", str(repetition), "--frequency-penalty", str(frequency),
                 "--presence-penalty", str(presence), "--repeat-last-n", str(window))
    for (before, logits), token in zip(steps(answer["tokens"]), answer["tokens"]):
        start = 0 if window < 0 else max(0, len(before) - window)
        seen = np.unique(before[start:])
        if seen.size:
            logits[seen] = np.where(logits[seen] < 0, logits[seen] * repetition, logits[seen] / repetition)
        generated, counts = np.unique(before[max(start, len(PROMPT)):], return_counts=True)
        if generated.size:
            logits[generated] -= frequency * counts + presence
        assert token == logits.argmax()
    if window == 0 or (repetition, frequency, presence) == (1, 0, 0):
        assert answer["tokens"] == run("-n", "24", "--temp", "0")["tokens"]
    else:
        assert answer["tokens"] != run("-n", "24", "--temp", "0")["tokens"]


def kept_by_typical(logits, mass):
    logp = log_softmax(logits)
    p = np.exp(logp)
    order = np.argsort(np.abs(-logp + (p * logp).sum()), kind="stable")
    return order[:np.searchsorted(np.cumsum(p[order]), mass) + 1]


def kept_by_top_p(logits, p):
    order = np.argsort(-logits, kind="stable")
    return order[:np.searchsorted(np.cumsum(np.exp(log_softmax(logits)[order])), p) + 1]


def drawn(filters):
    options = [word for option in filters.items() for word in option]
    return run("-n", "40", "--temp", "1", "--seed", "1", *options)["tokens"]


@pytest.mark.parametrize("option, value, kept", [
    ("--top-n-sigma", "0.5", lambda l: np.flatnonzero(l >= l.max() - l.std() / 2)),
    ("--typical-p", "0.4", lambda l: kept_by_typical(l, 0.4)),
    ("--top-p", "0.6", lambda l: kept_by_top_p(l, 0.6)),
    ("--min-p", "0.1", lambda l: np.flatnonzero(l >= l.max() + np.log(0.1))),
    ("--top-k", "3", lambda l: np.argsort(-l)[:3]),
])
def test_drawn_tokens_are_among_the_kept(steps, option, value, kept):
    def all_kept(tokens):
        return all(token in kept(logits) for (_, logits), token in zip(steps(tokens), tokens))

    assert all_kept(drawn({**NO_FILTERS, option: value}))
    # Without the filter the same numbers leave the set sooner or later.
    assert not all_kept(drawn(NO_FILTERS))


def test_bias_forces_and_bans():
    greedy = run("-n", "6", "--temp", "0")["tokens"]
    assert set(run("-n", "6", "--temp", "0", "--logit-bias", "1234=100")["tokens"]) == {1234}
    banned = run("-n", "6", "--temp", "0", *sum((["--logit-bias", f"{t}=-inf"] for t in set(greedy)), []))["tokens"]
    assert not set(banned) & set(greedy)


@pytest.mark.parametrize("options, part", [
    (["--repeat-penalty", "0"], "repetition_penalty"), (["--repeat-penalty", "nan"], "repetition_penalty"),
    (["--repeat-penalty", ""], "repeat-penalty"), (["--presence-penalty", "2.5"], "presence_penalty"),
    (["--frequency-penalty", "-inf"], "frequency_penalty"), (["--repeat-last-n", "-2"], "penalty_window"),
    (["--repeat-last-n", "1.5"], "repeat-last-n"), (["--typical-p", "0"], "typical_p"),
    (["--top-n-sigma", "-1"], "top_n_sigma"), (["--logit-bias", "5"], "--logit-bias: '5'"),
    (["--logit-bias", "5=x"], "--logit-bias: '5=x'"), (["--logit-bias", "=1"], "--logit-bias: '=1'"),
    (["--logit-bias", "5="], "--logit-bias: '5='"), (["--logit-bias", "5=101"], "logit_bias: 101 for token 5"),
    (["--logit-bias", "-5=1"], "logit_bias: token id -5"), (["--logit-bias", "5=inf"], "logit_bias: inf"),
    (["--logit-bias", "5=1", "--logit-bias", "5=2"], "token 5 is given twice"),
    (["--json", "--logprobs", "21"], "--logprobs"), (["--json", "--logprobs", "-1"], "--logprobs"),
    (["--logprobs", "2"], "--json"),
])
def test_wrong_options_are_usage(options, part):
    done = adze(*options)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 2 and part in done.stderr.splitlines()[0], done.stderr


def test_a_bias_for_a_token_that_is_not_there_is_named():
    done = adze("--logit-bias", "49152=1")
    assert done.returncode == 1 and "logit_bias: token id 49152 is not from 0 to 49151" in done.stderr
