"""`adze tokenize` against HF `tokenizers` with a real model's whole vocabulary.

ADZE_BIN: the program; ADZE_MODEL: SmolLM2-135M-Instruct as GGUF. Without them the tests are skipped.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent.parent / "golden"
sys.path.insert(0, str(GOLDEN))

BIN = os.environ.get("ADZE_BIN")
MODEL = os.environ.get("ADZE_MODEL")
pytestmark = pytest.mark.skipif(not BIN or not MODEL, reason="ADZE_BIN and ADZE_MODEL are not set")


def tokenize(*arguments, data):
    done = subprocess.run(
        [BIN, "tokenize", "-m", MODEL, *arguments], input=data, capture_output=True, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def ids(data, *arguments):
    out = tokenize("--ids", *arguments, data=data)
    assert out.endswith(b"\n") and out.count(b"\n") == 1
    return [int(word) for word in out.split()]


def test_golden():
    cases = json.loads((GOLDEN / "tokenizer_smollm2.json").read_text())["cases"]
    assert len(cases) > 250
    for case in cases:
        data = case["text"].encode()
        assert ids(data, "--no-special") == case["plain"], case["text"]
        if "special" in case:
            assert ids(data) == case["special"], case["text"]


def test_fresh_random_texts():
    gguf = pytest.importorskip("gguf")
    pytest.importorskip("tokenizers")
    import tokenizer_reference as reference

    fields = gguf.GGUFReader(MODEL).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    types = fields["tokenizer.ggml.token_type"].contents()
    merges = fields["tokenizer.ggml.merges"].contents()
    control = [token for token, kind in zip(tokens, types) if kind == 3]
    seed = int.from_bytes(os.urandom(4), "little")
    print("seed", seed)  # shown where the test fails
    # One long text holds as many cases as a hundred short ones and starts the program once.
    for number, longest in enumerate([40] * 20 + [3000] * 10):
        (text,) = reference.random_texts(seed + number, 1, longest)
        data = text.encode()
        plain = reference.build(tokens, merges, "smollm") if number == 0 else plain
        special = reference.build(tokens, merges, "smollm", control) if number == 0 else special
        assert ids(data, "--no-special") == plain.encode(text).ids, (seed, number)
        assert ids(data) == special.encode(text).ids, (seed, number)


def test_round_trip_of_any_bytes():
    # SmolLM2's vocabulary has no token for these, so they leave no trace.
    missing = bytes([0xC0, 0xC1, 0xF1, 0xF2, *range(0xF5, 0x100), 0x04, 0x06, 0x13, 0x14, 0x16, 0x1D])
    data = bytes(range(256)) * 3 + b"\xe2\x82 \xe2\x82\xac" + "naïve 👍🏽\r\n".encode()
    out = tokenize("--ids", "--no-special", data=data)
    assert tokenize("--decode", data=out) == data.translate(None, missing)


def test_empty_input_is_an_empty_line():
    assert tokenize("--ids", data=b"") == b"\n"


def test_table_names_each_token():
    lines = tokenize(data=b"Hi\n<|im_end|>").decode().splitlines()
    rows = [line.split(None, 1) for line in lines]
    assert [int(row[0]) for row in rows] == ids(b"Hi\n<|im_end|>")
    assert [row[1] for row in rows] == ["Hi", r"\x0a", "<|im_end|>"]


@pytest.mark.parametrize("words", [b"49152", b"-1", b"12 x", b"99999999999999999999"])
def test_decode_refuses_what_is_no_token(words):
    done = subprocess.run([BIN, "tokenize", "-m", MODEL, "--decode"], input=words, capture_output=True)
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1
