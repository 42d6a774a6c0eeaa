"""What integer activations and cache types cost: KL divergence from a float64 model of the same weights on held-out text,
the RMS error of the logits, how often the likeliest token is the same, and speed.

The texts are those of tests/golden/llamacpp_smollm2.json, with llama.cpp's own figures recorded there. Needs
build/release/bin/adze_logits, which scripts/test builds.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

from common import ADZE, LOGITS, ROOT, default_model, fail, machine, run_json, warn_when_busy

sys.path.insert(0, str(ROOT / "tests/python"))
import oracle  # noqa: E402

SETTINGS = [("f32", None, "f32"), ("f32", None, "bf16"), ("f32", None, "int8"), ("int16", "0", "bf16"),
            ("int16", "32", "bf16"), ("int16", "0", "int8"), ("int8", "32", "bf16"), ("int8", "64", "bf16"),
            ("int8", "0", "bf16"), ("int8", "32", "int8")]


def options_of(activations, group, cache):
    return ["--activations", activations, "--kv-dtype", cache, *(["--activation-group", group] if group else [])]


def speeds(model, ids, options, rounds):
    """Medians for a prompt of `ids` and an answer of 64 tokens."""
    runs = [run_json([ADZE, "run", "-m", model, "--prompt-ids", "-p", " ".join(map(str, ids)), "-n", 65,
                      "--ignore-eos", "--temp", "0", "--json", *options]) for _ in range(rounds)]
    return [statistics.median(run[f"{phase}_tokens_per_second"] for run in runs) for phase in ("prompt", "decode")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", default=None, help="a GGUF file of the Llama family with SmolLM2's vocabulary")
    parser.add_argument("--rounds", type=int, default=3, help="runs whose median is the speed")
    arguments = parser.parse_args()
    model = arguments.model or default_model()
    if not os.path.isfile(LOGITS):
        fail(f"{LOGITS}: no such file; scripts/test builds it")
    warn_when_busy()
    texts = json.loads((ROOT / "tests/golden/llamacpp_smollm2.json").read_text())["texts"]
    exact = oracle.Oracle(model)
    references = [exact.logits(text["ids"]) for text in texts]
    print(f"{os.path.basename(model)}, {machine()}; {len(texts[0]['ids'])} tokens of each text\n")
    names = [text["name"] for text in texts]
    print(f"| activations | scale per | cache | {' | '.join(f'{name}: KL, RMS error, same best' for name in names)} | "
          "prompt, tokens/s | decode, tokens/s |\n|" + " --- |" * (5 + len(names)))
    for activations, group, cache in SETTINGS:
        options = options_of(activations, group, cache)
        cells = []
        for text, reference in zip(texts, references):
            with tempfile.TemporaryDirectory() as folder:
                ids, out = pathlib.Path(folder, "ids"), pathlib.Path(folder, "logits")
                ids.write_text(" ".join(map(str, text["ids"])))
                subprocess.run([LOGITS, "-m", model, "--ids", ids, "--out", out, *options], check=True)
                logits = np.fromfile(out, "<f4").reshape(reference.shape).astype(np.float64)
            error = logits - reference
            error -= error.mean(-1, keepdims=True)
            same = (logits.argmax(-1) == reference.argmax(-1)).mean()
            cells.append(f"{oracle.kl_divergence(reference, logits):.2e}, {(error * error).mean() ** 0.5:.4f}, {same:.4f}")
        prompt, decode = speeds(model, texts[0]["ids"], options, arguments.rounds)
        scale = "–" if group is None else "row" if group == "0" else group
        print(f"| {activations} | {scale} | {cache} | {' | '.join(cells)} | {prompt:.0f} | {decode:.0f} |", flush=True)
    cells = [f"{text['llamacpp_kl']:.2e}, –, {text['llamacpp_same_top1']:.4f}" for text in texts]
    print(f"| llama.cpp (int8) | 32 | f16 | {' | '.join(cells)} | | |")


if __name__ == "__main__":
    main()
