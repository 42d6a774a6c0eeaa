"""Compares adze with llama.cpp (llama-cpp-python) on the same file and threads, in alternating processes.

Prompt speed is that of the whole prompt in one call, decode speed that of greedy tokens one by one, both inside a warm
process. Time to first token and memory are those of fresh processes whose model file is in the page cache: from the
process's start to the first token of a 12-token prompt, and its VmHWM. llama.cpp runs with flash attention, batches of
512 and an f16 cache; only its llama_decode calls and the search for the largest logit are timed, no Python around them.
"""
import argparse
import os
import statistics
import sys
import time

from common import ADZE, default_model, fail, machine, run_json, spread, warn_when_busy


def ids_of(count):
    """Token ids that any vocabulary above 5,000 has; speed does not depend on which."""
    return [100 + (i * 7919) % 4800 for i in range(count)]


def llama(arguments):
    """One round of llama.cpp, in a process of its own; prints a JSON object."""
    import ctypes
    import json

    import llama_cpp as lib
    import numpy as np

    def vm_hwm():
        return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))

    def since_start():
        fields = open("/proc/self/stat").read().rsplit(")", 1)[1].split()
        return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")

    silent = lib.llama_log_callback(lambda *_: None)  # must outlive the library's use of it
    lib.llama_log_set(silent, ctypes.c_void_p())
    lib.llama_backend_init()
    model_params = lib.llama_model_default_params()
    model = lib.llama_model_load_from_file(arguments.model.encode(), model_params)
    if not model:
        fail("llama.cpp could not load the model")
    params = lib.llama_context_default_params()
    params.n_ctx = arguments.prompt + arguments.decode + 64
    params.n_batch = params.n_ubatch = 512
    params.n_threads = params.n_threads_batch = arguments.threads
    params.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_ENABLED
    context = lib.llama_init_from_model(model, params)
    vocabulary = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model))

    def decode(ids):
        for first in range(0, len(ids), 512):
            part = ids[first:first + 512]
            array = (lib.llama_token * len(part))(*part)
            if lib.llama_decode(context, lib.llama_batch_get_one(array, len(part))) != 0:
                fail("llama_decode failed")
        logits = np.ctypeslib.as_array(lib.llama_get_logits_ith(context, -1), shape=(vocabulary,))
        return int(logits.argmax())

    if arguments.cold:
        decode(ids_of(12))
        print(json.dumps({"first_token": since_start(), "memory": vm_hwm()}))
        return
    decode(ids_of(16))  # warm
    lib.llama_memory_clear(lib.llama_get_memory(context), True)
    start = time.perf_counter()
    token = decode(ids_of(arguments.prompt))
    prompt = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(arguments.decode):
        token = decode([token])
    print(json.dumps({"prompt": arguments.prompt / prompt,
                      "decode": arguments.decode / (time.perf_counter() - start)}))


def adze(arguments, prompt, decode, *options):
    out = run_json([ADZE, "run", "-m", arguments.model, "--prompt-ids", "-p", " ".join(map(str, ids_of(prompt))), "-n",
                    decode + 1, "--ignore-eos", "--temp", "0", "--json", "--threads", arguments.threads, *options])
    return {"prompt": out["prompt_tokens_per_second"], "decode": out["decode_tokens_per_second"],
            "first_token": out["time_to_first_token_seconds"], "memory": out["peak_resident_bytes"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", default=None, help="a GGUF file (default: what scripts/fetch_model fetches)")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompt", type=int, default=512, help="tokens of the prompt")
    parser.add_argument("--decode", type=int, default=128, help="tokens of the answer")
    parser.add_argument("--llama", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--cold", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.model = arguments.model or default_model()
    if arguments.llama:
        llama(arguments)
        return
    if not os.path.isfile(arguments.model):
        fail(f"{arguments.model}: no such file")
    warn_when_busy()
    theirs = [sys.executable, __file__, "--llama", "-m", arguments.model, "--threads", arguments.threads, "--prompt",
              arguments.prompt, "--decode", arguments.decode]
    variants = {"adze": [], "adze, int8 activations": ["--activations", "int8"]}
    found = {name: {} for name in ("llama.cpp", *variants)}

    def note(name, figures):
        for key, value in figures.items():
            found[name].setdefault(key, []).append(value)

    for index in range(arguments.rounds):
        print(f"round {index + 1} of {arguments.rounds}", file=sys.stderr)
        note("llama.cpp", run_json(theirs))
        note("llama.cpp", run_json([*theirs, "--cold"]))
        for name, options in variants.items():
            warm = adze(arguments, arguments.prompt, arguments.decode, *options)
            note(name, {key: warm[key] for key in ("prompt", "decode")})
            cold = adze(arguments, 12, 1, *options)
            note(name, {key: cold[key] for key in ("first_token", "memory")})

    import llama_cpp
    print(f"{os.path.basename(arguments.model)}, {machine()}, {arguments.threads} threads, {arguments.rounds} alternating "
          f"rounds: median (lowest–highest); llama.cpp of llama-cpp-python {llama_cpp.__version__}\n")
    print("| | prompt, tokens/s | decode, tokens/s | first token, s | peak memory, MB |\n| --- | --- | --- | --- | --- |")
    for name, figures in found.items():
        memory = [value / 1e6 for value in figures["memory"]]
        print(f"| {name} | {spread(figures['prompt'])} | {spread(figures['decode'])} | "
              f"{spread(figures['first_token'])} | {spread(memory)} |")
    for name in variants:
        ratios = []
        for key in ("prompt", "decode", "first_token", "memory"):
            ours, other = statistics.median(found[name][key]), statistics.median(found["llama.cpp"][key])
            ratios.append(f"{ours / other:.2f}×")
        print(f"| {name} / llama.cpp | {' | '.join(ratios)} |")


if __name__ == "__main__":
    main()
