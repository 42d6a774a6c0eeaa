"""Speculative decoding from outside: the same answers, and what is said of them."""
import json
import os
import pathlib
import subprocess

import pytest

BIN = os.environ.get("ADZE_BIN")
MODEL = os.environ.get("ADZE_MODEL")
GEMMA = os.environ.get("ADZE_GEMMA")
TINY = pathlib.Path(__file__).parents[1] / "golden" / "tiny"
pytestmark = pytest.mark.skipif(not BIN, reason="ADZE_BIN is not set")

CODE = """Write this function again with a docstring, and then once more:
def total(items, rate):
    subtotal = 0
    for item in items:
        subtotal = subtotal + item["price"] * item["count"]
    return subtotal + subtotal * rate
"""
PROMPTS = [CODE, "List the numbers from one to thirty, one on each line.", "Tell me a story about a lighthouse."]
SETTINGS = [["--temp", "0"], ["--temp", "0.7", "--seed", "5", "--top-p", "0.9", "--repeat-penalty", "1.05"]]


def adze(*arguments, text=""):
    return subprocess.run([BIN, *arguments], input=text, capture_output=True, text=True, timeout=300)


def answer(*arguments, text=""):
    done = adze("run", "--json", "--logprobs", "1", *arguments, text=text)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(not MODEL, reason="ADZE_MODEL is not set")
@pytest.mark.parametrize("setting", SETTINGS, ids=["greedy", "sampled"])
@pytest.mark.parametrize("prompt", PROMPTS, ids=["code", "numbers", "story"])
def test_a_real_models_answers_stay_the_same(prompt, setting):
    common = ["-m", MODEL, "-p", prompt, "-n", "80", *setting]
    plain = answer(*common)
    assert plain["proposed_tokens"] == plain["accepted_tokens"] == 0
    for speculation in (["--speculate", "lookup"], ["--draft-model", MODEL, "--draft-max", "5"]):
        out = answer(*common, *speculation)
        for field in ("text", "tokens", "finish_reason", "logprobs"):
            assert out[field] == plain[field], field
        assert 0 <= out["accepted_tokens"] <= out["proposed_tokens"]
        if "--draft-model" in speculation and setting == SETTINGS[0]:
            # All but what was proposed past the answer's end comes true.
            assert out["proposed_tokens"] - out["accepted_tokens"] <= 5
    if prompt == CODE and setting == SETTINGS[0]:
        assert answer(*common, "--speculate", "lookup")["accepted_tokens"] >= 20


@pytest.mark.parametrize("name", ["gemma3_bf16", "llama_f32"])
def test_statistics_are_shown(name):
    # Random models repeat themselves.
    common = ["run", "-m", str(TINY / name), "--no-chat", "-p", "a b c a b c a b", "-n", "60", "--temp", "0", "--ignore-eos"]
    plain, out = adze(*common), adze(*common, "--speculate", "lookup")
    assert plain.returncode == out.returncode == 0, out.stderr
    assert out.stdout == plain.stdout
    assert "proposed" not in plain.stderr
    assert " proposed tokens accepted (" in out.stderr and " tokens a step" in out.stderr


@pytest.mark.parametrize("arguments, status, message", [
    (["--speculate", "guess"], 2, "--speculate"),
    (["--speculate", "lookup", "--draft-model", "x"], 2, "give either --speculate or --draft-model"),
    (["--draft-max", "4"], 2, "--draft-max: nothing is proposed"),
    (["--speculate", "lookup", "--draft-max", "0"], 2, "--draft-max"),
    (["--draft-model", "/no/such.gguf"], 1, "/no/such.gguf"),
    (["--draft-model", ""], 2, "--draft-model"),
])
def test_what_cannot_be_is_one_line(arguments, status, message):
    done = adze("run", "-m", str(TINY / "llama_f32"), "-p", "x", "--no-chat", *arguments)
    assert done.returncode == status and done.stdout == ""
    assert message in done.stderr and done.stderr.startswith("adze: ")


@pytest.mark.skipif(not (MODEL and GEMMA), reason="ADZE_MODEL or ADZE_GEMMA is not set")
def test_a_draft_of_another_vocabulary_is_refused():
    done = adze("run", "-m", MODEL, "-p", "x", "--draft-model", GEMMA)
    assert done.returncode == 1 and done.stdout == ""
    assert f"draft: {GEMMA} has a vocabulary of 262144 tokens, {MODEL} of 49152" in done.stderr
