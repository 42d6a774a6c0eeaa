"""How fast a text of 10 MB becomes tokens on one thread, in adze and in HF's tokenizers, and how the time grows with
1 MB of what is hard for tokenizers.

Both sides have the same vocabulary: tokenizers gets it as a tokenizer.json that this script makes of the GGUF file. The
ids are compared first. The text is English (the help texts of Python), code (its standard library), Chinese and emoji.
Needs build/release/bin/adze_encode, which scripts/test builds.
"""
import argparse
import json
import os
import pathlib
import pydoc_data.topics
import random
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
import gguf  # noqa: E402
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers  # noqa: E402

from common import ROOT, default_model, fail, machine, spread, warn_when_busy  # noqa: E402

sys.path.insert(0, str(ROOT / "tests/golden"))
import tokenizer_reference  # noqa: E402

ENCODE = os.environ.get("ADZE_ENCODE", str(ROOT / "build/release/bin/adze_encode"))
ADVERSARIES = {"one letter": "a", "blanks": " ", "emoji": "\U0001f600", "combining marks": "\u0301"}
CONTROL, USER_DEFINED = 3, 4


def mixed_text(size):
    """Half English, a third code, the rest Chinese and emoji, in pieces of a few lines."""
    rng = random.Random(1)
    english = "\n".join(pydoc_data.topics.topics[key] for key in sorted(pydoc_data.topics.topics)).split("\n\n")
    library = pathlib.Path(os.__file__).parent
    code = [part for path in sorted(library.glob("*.py")) for part in path.read_text(errors="replace").split("\n\n")]
    common = [chr(rng.randint(0x4E00, 0x9FA5)) for _ in range(3000)]
    weights = [1 / (rank + 1) for rank in range(len(common))]
    emoji = [chr(rng.randint(0x1F300, 0x1F64F)) for _ in range(300)]
    parts, total = [], 0
    while total < size:
        kind = rng.random()
        if kind < 0.5:
            part = rng.choice(english)
        elif kind < 0.85:
            part = rng.choice(code)
        elif kind < 0.95:
            part = "\u3002".join("".join(rng.choices(common, weights, k=rng.randint(5, 30))) for _ in range(5))
        else:
            part = " ".join(rng.choice(emoji) for _ in range(30))
        parts.append(part)
        total += len(part.encode()) + 2
    return "\n\n".join(parts)


def listed_merges(tokens, scores, kinds):
    """SentencePiece's merges by score as the list that tokenizers takes."""
    usable = {token for token, kind in zip(tokens, kinds) if kind in (1, USER_DEFINED)}
    merges = [(-score, index, token[:split], token[split:])
              for index, (token, score, kind) in enumerate(zip(tokens, scores, kinds)) if kind in (1, USER_DEFINED)
              for split in range(1, len(token)) if token[:split] in usable and token[split:] in usable]
    return [(left, right) for _, _, left, right in sorted(merges)]


def reference(path):
    fields = gguf.GGUFReader(path).fields
    tokens, kinds = (fields[f"tokenizer.ggml.{key}"].contents() for key in ("tokens", "token_type"))
    added = [token for token, kind in zip(tokens, kinds) if kind in (CONTROL, USER_DEFINED)]
    if fields["tokenizer.ggml.model"].contents() == "gpt2":
        return tokenizer_reference.build(tokens, fields["tokenizer.ggml.merges"].contents(),
                                         fields["tokenizer.ggml.pre"].contents(), added)
    tokenizer = Tokenizer(models.BPE(
        vocab={token: index for index, token in enumerate(tokens)}, fuse_unk=True, byte_fallback=True, unk_token="<unk>",
        merges=listed_merges(tokens, fields["tokenizer.ggml.scores"].contents(), kinds)))
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.decoder = decoders.ByteFallback()
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in added])
    return tokenizer


def adze(model, texts, rounds):
    """Per text the number of tokens and the seconds of each round."""
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder, str(index)) for index in range(len(texts))]
        for file, text in zip(files, texts):
            file.write_bytes(text.encode())
        done = subprocess.run([ENCODE, "-m", model, "--rounds", str(rounds), *map(str, files)], capture_output=True, text=True)
    if done.returncode != 0:
        fail(done.stderr.strip())
    return [json.loads(line) for line in done.stdout.splitlines()]


def timed(tokenizer, text):
    start = time.perf_counter()
    count = len(tokenizer.encode(text, add_special_tokens=False).ids)
    return count, time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", action="append", help="a GGUF file; may be given several times")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=10)
    arguments = parser.parse_args()
    if not os.path.isfile(ENCODE):
        fail(f"{ENCODE}: no such file; scripts/test builds it")
    warn_when_busy()
    text = mixed_text(arguments.megabytes * 1_000_000)
    megabytes = len(text.encode()) / 1e6
    print(f"{machine()}; {megabytes:.1f} MB of mixed text, median of {arguments.rounds} (lowest–highest)\n")
    print("| vocabulary | tokens | adze, MB/s | tokenizers, MB/s | ratio |\n|" + " --- |" * 5)
    chosen = arguments.model or [default_model()]
    for model in chosen:
        tokenizer = reference(model)
        ours, theirs = [], []
        for _ in range(arguments.rounds):
            (result,) = adze(model, [text], 1)
            count, seconds = timed(tokenizer, text)
            if count != result["tokens"]:
                fail(f"{model}: {result['tokens']} tokens, tokenizers has {count}")
            ours.append(megabytes / result["seconds"][0])
            theirs.append(megabytes / seconds)
        print(f"| {os.path.basename(model)} | {count} | {spread(ours)} | {spread(theirs)} | "
              f"{statistics.median(ours) / statistics.median(theirs):.1f} |", flush=True)
    print("\n| vocabulary | 1 MB of | seconds for a quarter | half | all |\n|" + " --- |" * 5)
    for model in chosen:
        texts = [unit * (1_000_000 // len(unit.encode()) // part) for unit in ADVERSARIES.values() for part in (4, 2, 1)]
        medians = [statistics.median(result["seconds"]) for result in adze(model, texts, arguments.rounds)]
        for index, name in enumerate(ADVERSARIES):
            cells = " | ".join(f"{seconds:.3f}" for seconds in medians[3 * index:3 * index + 3])
            print(f"| {os.path.basename(model)} | {name} | {cells} |")


if __name__ == "__main__":
    main()
