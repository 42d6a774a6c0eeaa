#!/usr/bin/env python3
"""Writes tokenizer_small.json and tokenizer_smollm2.json: what HF `tokenizers` makes of nasty texts.

usage: make_tokenizer_golden.py SMOLLM2.gguf

tokenizer_small.json    a vocabulary of 1,500 tokens trained here on the Debian handbook, with the ids for every
                        pre-tokenizer, and how Python's incremental UTF-8 decoder reads random bytes
tokenizer_smollm2.json  texts and ids for SmolLM2's vocabulary, compared with llama.cpp on the way
Needs the Python packages tokenizers, gguf and llama-cpp-python, and Debian's debian-handbook.
"""

import codecs
import html
import json
import random
import re
import sys
from pathlib import Path

import gguf
import llama_cpp
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

import tokenizer_reference as reference

HERE = Path(__file__).parent
HANDBOOK = Path("/usr/share/doc/debian-handbook/html/en-US")
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
USER_DEFINED = ["<tool", "<tool_call>"]
UNREACHABLE = "\u0120xylophone"  # a token that no merges make: only a whole word can be it
PRE_TOKENIZERS = ["smollm", "gpt-2", "llama-bpe", "qwen2", "gpt-4o"]


def write(name, data):
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    (HERE / name).write_text(text + "\n")
    print(f"{name}: {len(text)} bytes")


def train():
    pages = sorted(HANDBOOK.glob("*.html"))
    texts = [html.unescape(re.sub(r"<[^>]*>", "", page.read_text())) for page in pages]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=1499,
            special_tokens=CONTROL + USER_DEFINED,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    assert UNREACHABLE not in tokens
    return tokens + [UNREACHABLE], [" ".join(merge) for merge in model["merges"]]


def stream_cases():
    """Bytes and what each one completes."""
    rng = random.Random(3)
    samples = [
        b"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", b"\xe2\x82", b"\xf0\x9f\x98", b"\xc0\xaf", b"\xe0\x80\xaf",
        b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf5\x80", b"\xe2(\xa1", b"\xf0\x9fa\x98", b"\xff\xfea\x80\x80",
    ]
    interesting = b"a\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe1\xec\xed\xee\xef\xf0\xf1\xf3\xf4\xf5\xff"
    samples += [bytes(rng.choice(interesting) for _ in range(rng.randint(1, 24))) for _ in range(150)]
    cases = []
    for sample in samples:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        pieces = [decoder.decode(bytes([byte])) for byte in sample] + [decoder.decode(b"", final=True)]
        case = {"bytes": sample.hex(), "text": "".join(pieces)}
        # Python waits for the third byte of an encoded surrogate, although the second has already decided.
        if not re.search(rb"\xed[\xa0-\xbf]", sample):
            case["pieces"] = pieces
        cases.append(case)
    return cases


def small():
    tokens, merges = train()
    texts = reference.NASTY + reference.random_texts(seed=1, count=120)
    ids = {}
    for pre in PRE_TOKENIZERS:
        plain = reference.build(tokens, merges, pre, added=USER_DEFINED)
        special = reference.build(tokens, merges, pre, added=CONTROL + USER_DEFINED)
        ids[pre] = {
            "plain": [plain.encode(text).ids for text in texts],
            # Only where it differs: [index of the text, ids].
            "special": [
                [i, special.encode(text).ids]
                for i, text in enumerate(texts)
                if special.encode(text).ids != plain.encode(text).ids
            ],
        }
    write(
        "tokenizer_small.json",
        {
            "tokens": tokens, "merges": merges, "control": CONTROL, "user_defined": USER_DEFINED,
            "texts": texts, "ids": ids, "stream": stream_cases(),
        },
    )


def smollm2(path):
    fields = gguf.GGUFReader(path).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    merges = fields["tokenizer.ggml.merges"].contents()
    types = fields["tokenizer.ggml.token_type"].contents()
    control = [token for token, kind in zip(tokens, types) if kind == 3]
    plain = reference.build(tokens, merges, "smollm")
    special = reference.build(tokens, merges, "smollm", added=control)
    other = llama_cpp.Llama(path, vocab_only=True, verbose=False)
    texts = reference.NASTY + reference.random_texts(seed=2, count=200)
    cases = []
    for text in texts:
        case = {"text": text, "plain": plain.encode(text).ids, "special": special.encode(text).ids}
        for kind in ("plain", "special"):
            ids = other.tokenize(text.encode(), add_bos=False, special=kind == "special")
            if ids != case[kind]:
                print(f"llama.cpp differs ({kind}): {text!r}: {ids}, tokenizers: {case[kind]}")
        if case["special"] == case["plain"]:
            del case["special"]
        cases.append(case)
    write("tokenizer_smollm2.json", {"pre": "smollm", "cases": cases})


if __name__ == "__main__":
    small()
    smollm2(sys.argv[1])
