#!/usr/bin/env python3
"""Records llama.cpp's answers and logits quality on SmolLM2 and Gemma 3 into llamacpp_<model>.json.

Answers are recorded twice: on the model's own file, where llama.cpp rounds activations to int8, and on the same weights
as float32 (build/release/bin/gguf_copy IN OUT F32) with a float32 cache, where it does not.

Needs llama-cpp-python and Debian's jargon-text and bible-kjv (for its program); run by hand, the result is committed:

    python tests/golden/record_llamacpp.py smollm2|gemma3 MODEL.gguf FLOAT_MODEL.gguf
"""
import json
import pathlib
import platform
import sys

import jinja2
import llama_cpp
import numpy as np

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "python"))
import heldout  # noqa: E402
import oracle  # noqa: E402

PROMPTS = [
    "Why is the sky blue?", "Name three rivers in Europe.", "Write a haiku about winter.",
    "What is 17 plus 25?", "Explain photosynthesis to a child.", "Translate 'good morning' into French.",
    "Give me a recipe for pancakes.", "Who wrote Hamlet?", "List the planets of the solar system.",
    "What does a compiler do?", "Write a Python function that reverses a string.",
    "What is the capital of Japan?", "Describe a sunset over the sea.", "How do vaccines work?",
    "Give two reasons to learn a second language.", "What is a prime number?",
    "Write a short email asking for a day off.", "What causes tides?",
    "Summarize the story of Cinderella in two sentences.", "Suggest a name for a bakery and say why.",
]
ANSWER_TOKENS = {"smollm2": 64, "gemma3": 32}
TEXT_TOKENS = {"smollm2": 512, "gemma3": 640}  # Gemma's windows hold 512


def prompt_ids(llm, template, prompt):
    """Through the model's chat template; a model that has none continues the text."""
    if template is None:
        return llm.tokenize(prompt.encode(), add_bos=True, special=False)
    text = template.render(messages=[{"role": "user", "content": prompt}], add_generation_prompt=True)
    return llm.tokenize(text.encode(), add_bos=False, special=True)


def greedy(llm, ids, most):
    """Continues until the end of the answer or `most` tokens; ties go to the lowest id."""
    llm.reset()
    llm.eval(ids)
    answer = []
    while len(answer) < most:
        token = int(np.argmax(llm.scores[llm.n_tokens - 1]))
        answer.append(token)
        if token == llm.token_eos():
            break
        llm.eval([token])
    return answer


def main():
    name, path, float_path = sys.argv[1:]
    model = oracle.Oracle(path)
    options = {"n_ctx": 1024, "n_batch": 512, "n_threads": 1, "n_threads_batch": 1, "logits_all": True,
               "verbose": False}
    llm = llama_cpp.Llama(path, **options)
    precise = llama_cpp.Llama(float_path, type_k=llama_cpp.GGML_TYPE_F32,
                              type_v=llama_cpp.GGML_TYPE_F32, **options)
    template = None
    if "tokenizer.chat_template" in llm.metadata:
        template = jinja2.Environment(trim_blocks=True, lstrip_blocks=True).from_string(
            llm.metadata["tokenizer.chat_template"])
    out = {"llama_cpp_python": llama_cpp.__version__, "numpy": np.__version__, "cpu": platform.processor()
           or platform.machine(), "texts": [], "answers": []}
    for text_name, text in (("jargon-text", heldout.jargon()), ("bible-kjv-text", heldout.bible())):
        ids = llm.tokenize(text.encode(), add_bos=name == "gemma3", special=False)[:TEXT_TOKENS[name]]
        llm.reset()
        llm.eval(ids)
        exact = model.logits(ids)
        theirs = llm.scores[:len(ids)]
        out["texts"].append({
            "name": text_name, "ids": ids,
            "llamacpp_kl": oracle.kl_divergence(exact, theirs),
            "llamacpp_same_top1": float((exact.argmax(-1) == theirs.argmax(-1)).mean())})
        print(text_name, len(ids), out["texts"][-1]["llamacpp_kl"], out["texts"][-1]["llamacpp_same_top1"], flush=True)
    for prompt in PROMPTS:
        ids = prompt_ids(llm, template, prompt)
        out["answers"].append({"prompt": prompt, "prompt_ids": ids,
                               "answer_ids": greedy(llm, ids, ANSWER_TOKENS[name]),
                               "float_answer_ids": greedy(precise, ids, ANSWER_TOKENS[name])})
        print(prompt, "→", llm.detokenize(out["answers"][-1]["answer_ids"]).decode(errors="replace")[:60], flush=True)
    target = HERE / f"llamacpp_{name}.json"
    target.write_text(json.dumps(out, separators=(",", ":")) + "\n")
    print(target, target.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
