"""The program on malicious, broken and unlucky files: one line that names the file, exit code 1, never a signal.

ADZE_BIN: the program. ADZE_SANITIZED_BIN: one built with sanitizers, used instead where it is set.
"""

import os
import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import gguf_bytes
from gguf_bytes import (ARRAY, BOOL, CONTEXT, F32, FLOAT32, FLOAT64, HEADS, HIDDEN, INT32, INT64, Q4_0, Q8_0, STRING,
                        UINT8, UINT32, UINT64, payload, text, tiny_model)

SANITIZED = os.environ.get("ADZE_SANITIZED_BIN")
BIN = SANITIZED or os.environ.get("ADZE_BIN")
pytestmark = pytest.mark.skipif(not BIN, reason="neither ADZE_SANITIZED_BIN nor ADZE_BIN is set")

SECONDS = 10  # for one command
NAME = "model.gguf"
COMMANDS = {
    "inspect": ["inspect", NAME, "--all", "--tensors"],
    "json": ["inspect", NAME, "--all", "--json"],
    "tokenize": ["tokenize", "-m", NAME],
    "explain": ["explain", "-m", NAME, "--threads", "2"],
    "run": ["run", "-m", NAME, "-p", "the", "--no-chat", "-n", "2", "--threads", "2", "--seed", "1"],
}
ALL = tuple(COMMANDS)
LOAD = ("explain", "run")
TOKENS = ("tokenize", *LOAD)


def adze(folder, *arguments, **options):
    options.setdefault("stdout", subprocess.PIPE)
    if "stdin" not in options:
        options.setdefault("input", b"the")
    return subprocess.run([BIN, *arguments], cwd=folder, stderr=subprocess.PIPE, timeout=SECONDS, **options)


def assert_refused(done, *parts):
    """Exit code 1 and one printable line."""
    message = done.stderr.decode()
    assert done.returncode == 1, (done.returncode, message)
    assert message.startswith("adze: ") and message.count("\n") == 1 and message.endswith("\n"), message
    assert not any(ord(character) < 32 for character in message[:-1]), message
    for part in parts:
        assert part in message, message


def assert_survived(done, *parts):
    """What is asked of any file: an answer, or a refusal. Logits that are no numbers are no fault of the header."""
    if b"weights may be damaged" in done.stderr:
        parts = ()
    if done.returncode != 0:
        assert_refused(done, *parts)
    else:
        assert b"Sanitizer" not in done.stderr and b"runtime error" not in done.stderr, done.stderr


def model_file(folder, data):
    (folder / NAME).write_bytes(data if isinstance(data, bytes) else data.bytes())
    return folder


def test_the_model_that_the_others_break_runs(tmp_path):
    model_file(tmp_path, tiny_model())
    for arguments in COMMANDS.values():
        done = adze(tmp_path, *arguments)
        assert done.returncode == 0, done.stderr


# --- Files that are wrong: what to do to the model, and which commands must refuse it ---

CASES = {}


def case(commands, *says):
    def add(change):
        CASES[change.__name__.replace("_", " ").strip()] = (change, commands, says)
        return change

    return add


def simple(name, commands, *says, **fields):
    """A case that sets fields of the file."""

    def change(model):
        for field, value in fields.items():
            setattr(model, field, value)

    CASES[name] = (change, commands, says)


def metadata(name, commands, key, kind, value, *says):
    """A case that sets one metadata value."""
    CASES[name] = (lambda model: model.set(key, kind, value), commands, says or (key,))


def raw_metadata(name, key, kind, data, *says):
    CASES[name] = (lambda model: model.set_raw(key, kind, data), ALL, says)


def tensor(name, commands, which, *says, **fields):
    """A case that changes one tensor's entry."""
    CASES[name] = (lambda model: model.tensors[which].update(fields), commands, says or (which,))


BIG = {"2^31-1": 2**31 - 1, "2^31": 2**31, "2^32": 2**32, "2^63-1": 2**63 - 1, "2^63": 2**63, "2^64-1": 2**64 - 1}
QUERY, NORM = "blk.0.attn_q.weight", "blk.0.attn_norm.weight"

simple("wrong magic", ALL, "not a GGUF file", magic=b"GGML")
simple("magic of control characters", ALL, "\\x1b", magic=b"\x1b[2J")
for number in (0, 1, 4, 2**31, 2**32 - 1, 0x03000000):
    simple(f"version {number}", ALL, version=number)
for shown, number in BIG.items():
    simple(f"{shown} tensors", ALL, "tensor count", tensor_count=number)
    simple(f"{shown} metadata entries", ALL, "metadata count", metadata_count=number)
    raw_metadata(f"string of {shown} bytes", "some.text", STRING, struct.pack("<Q", number) + b"abc", "string")
    raw_metadata(f"array of {shown} numbers", "some.numbers", ARRAY, struct.pack("<IQ", UINT32, number), "some.numbers")
    raw_metadata(f"array of {shown} strings", "some.texts", ARRAY, struct.pack("<IQ", STRING, number), "some.texts")
    tensor(f"dimension {shown}", ALL, QUERY, dims=[HIDDEN, number])
    tensor(f"row of {shown}", ALL, QUERY, dims=[number, HIDDEN])
    tensor(f"offset {shown}", ALL, QUERY, offset=number // 32 * 32)
    tensor(f"offset {shown}, misaligned", ALL, QUERY, offset=number // 32 * 32 + 1)
simple("one tensor more than there are", ALL, tensor_count=13)
simple("one metadata entry more than there are", ALL, metadata_count=99)
raw_metadata("array of arrays", "some.arrays", ARRAY,
             struct.pack("<IQ", ARRAY, 1) + payload(ARRAY, (UINT32, [1])), "arrays of arrays")
raw_metadata("10000 levels of arrays", "some.arrays", ARRAY, struct.pack("<IQ", ARRAY, 1) * 10000, "arrays of arrays")
raw_metadata("bool 2", "some.flag", BOOL, b"\x02", "some.flag")
raw_metadata("bools of an array", "some.flags", ARRAY, struct.pack("<IQ", BOOL, 2) + b"\x01\xff", "some.flags")
for number in (13, 255, 2**31, 2**32 - 1):
    raw_metadata(f"metadata type {number}", "some.key", number, bytes(8), "unknown type")
    raw_metadata(f"array of type {number}", "some.key", ARRAY, struct.pack("<IQ", number, 1) + bytes(8), "unknown type")
    tensor(f"tensor type {number}", ALL, QUERY, type=number)
for number in (0, 5, 2**31, 2**32 - 1):
    tensor(f"{number} dimensions", ALL, QUERY, dimension_count=number)
tensor("dimension 0", ALL, QUERY, dims=[HIDDEN, 0])
tensor("product of 2^64", ALL, QUERY, dims=[2**32, 2**32])
tensor("product of 2^64 that is small when it wraps", ALL, QUERY, dims=[HIDDEN, 2**58 + 1])
tensor("four dimensions whose product wraps", ALL, QUERY, dims=[2**16, 2**16, 2**16, 2**16])
tensor("a row of half a block", ALL, QUERY, dims=[16, 256])
tensor("overlapping tensors", ALL, QUERY, "overlap", offset=0)
tensor("offset just past the end", ALL, "blk.0.ffn_norm.weight", offset=2**20)
for number in (0, 3, 24, 2**21, 2**31):
    metadata(f"alignment {number}", ALL, "general.alignment", UINT32, number)
metadata("alignment of a wrong type", ALL, "general.alignment", STRING, "32")
metadata("alignment -1", ALL, "general.alignment", INT64, -1)
metadata("part of a split model", ALL, "split.count", UINT32, 2, "split")
metadata("2^31 parts", ALL, "split.count", UINT32, 2**31)


@case(ALL, "appears twice")
def a_key_twice(model):
    model.repeated.append(("llama.block_count", UINT32, struct.pack("<I", 1)))


@case(ALL, "appears twice")
def a_tensor_twice(model):
    model.repeated_tensors.append((QUERY, {**model.tensors[QUERY], "offset": 2**20}))


@case(ALL, "key")
def a_key_of_a_megabyte(model):
    model.set("k" * 2**20, UINT32, 1)


# Well-formed files that are no model of the architecture: `inspect` shows those.
for wanted in tiny_model().metadata:
    if wanted.startswith("tokenizer") and wanted.endswith(("model", "tokens")):
        which = TOKENS
    elif wanted in ("general.architecture", "llama.block_count", "llama.context_length", "llama.embedding_length",
                    "llama.feed_forward_length", "llama.attention.head_count",
                    "llama.attention.layer_norm_rms_epsilon"):
        which = LOAD
    else:
        which = ()  # there is a default
    CASES[f"without {wanted}"] = (lambda model, key=wanted: model.metadata.pop(key), which, (wanted,) if which else ())
    if "tokens" not in wanted:
        metadata(f"{wanted} of a wrong type", LOAD, wanted, ARRAY, (FLOAT64, [1.5]))
for wanted in tiny_model().tensors:
    CASES[f"without {wanted}"] = (lambda model, name=wanted: model.tensors.pop(name), LOAD, (wanted,))
    tensor(f"{wanted} with a column more", LOAD, wanted, dims=[HIDDEN + 32, 32], data=bytes(2**16))
    tensor(f"{wanted} with a row more", LOAD, wanted, dims=[HIDDEN, HIDDEN + 1], data=bytes(2**16))
    tensor(f"{wanted} of one element", LOAD, wanted, dims=[1], type=F32)
    if "norm" not in wanted:
        CASES[f"{wanted} of int32"] = (
            lambda model, name=wanted: model.tensors[name].update(type=26, data=bytes(2**17)), LOAD, (NAME, "I32"))
for key in ("block_count", "context_length", "embedding_length", "feed_forward_length", "attention.head_count",
            "attention.head_count_kv", "attention.key_length", "rope.dimension_count"):
    for number in (0, 2**31 - 1, 2**31, 2**32 - 1):
        if key != "context_length" or number != 2**31 - 1:
            metadata(f"{key} {number}", LOAD, "llama." + key, UINT32, number, NAME)
    for number in (-1, -(2**63), 2**63 - 1):
        metadata(f"{key} {number}", LOAD, "llama." + key, INT64, number, NAME)
    metadata(f"{key} 2^64-1", LOAD, "llama." + key, UINT64, 2**64 - 1, NAME)
for key in ("attention.head_count", "attention.head_count_kv", "feed_forward_length"):
    metadata(f"{key} for no layer", LOAD, "llama." + key, ARRAY, (INT32, []))
    metadata(f"{key} for two layers", LOAD, "llama." + key, ARRAY, (INT32, [4, 4]))
    metadata(f"{key} of a negative layer", LOAD, "llama." + key, ARRAY, (INT32, [-4]))
for key in ("rope.freq_base", "attention.layer_norm_rms_epsilon"):
    for number in ("nan", "inf", "-inf", "0", "-1", "1e308"):
        metadata(f"{key} {number}", LOAD, "llama." + key, FLOAT64, float(number))
metadata("an architecture of control characters", LOAD, "general.architecture", STRING, b"ll\x1b[31m\na\xff",
         "ll\\x1b[31m\\x0aa\\xff")
metadata("scaled rotary embeddings", LOAD, "llama.rope.scaling.type", STRING, "yarn\n", "yarn\\x0a")
for key in ("rope.scaling.factor", "rope.scale_linear"):  # linear scaling, where no type is named
    for number in (float("nan"), float("inf"), -2.0):
        metadata(f"{key} {number}", LOAD, "llama." + key, FLOAT32, number, "llama." + key)
metadata("a scaled attention", LOAD, "llama.rope.scaling.attn_factor", FLOAT32, 2.0)
metadata("attention to what follows", LOAD, "llama.attention.causal", BOOL, False)
metadata("values of another width", LOAD, "llama.attention.value_length", UINT32, 8)
metadata("a mixture of experts", LOAD, "llama.expert_count", UINT32, 8, "experts")
for code in (0, 7, -1, 2**31 - 1):
    metadata(f"token type {code}", TOKENS, "tokenizer.ggml.token_type", ARRAY, (INT32, [code] * 258))
metadata("too few token types", TOKENS, "tokenizer.ggml.token_type", ARRAY, (INT32, [1]), NAME)
metadata("no tokens", TOKENS, "tokenizer.ggml.tokens", ARRAY, (STRING, []), NAME)
metadata("tokens that are numbers", TOKENS, "tokenizer.ggml.tokens", ARRAY, (UINT32, [1]))
metadata("an unknown tokenizer", TOKENS, "tokenizer.ggml.model", STRING, "\x07bert", "\\x07bert")
metadata("an unknown pre-tokenizer", TOKENS, "tokenizer.ggml.pre", STRING, "\x07new", "\\x07new")
metadata("merges of tokens that are none", TOKENS, "tokenizer.ggml.merges", ARRAY, (STRING, ["the quick"]), NAME)
metadata("merges without a blank", TOKENS, "tokenizer.ggml.merges", ARRAY, (STRING, ["\x1bth"]), NAME)
for number in (258, 2**31 - 1, 2**31, 2**32 - 1):
    metadata(f"end token {number}", TOKENS, "tokenizer.ggml.eos_token_id", UINT32, number, NAME)
metadata("end token -1", TOKENS, "tokenizer.ggml.eos_token_id", INT32, -1)


@case(LOAD, "\\x1b[31m\\x0a")
def a_tensor_without_a_place(model):
    model.add_tensor(b"bias\x1b[31m\n", [HIDDEN], F32)


@case(LOAD, "rope_freqs", "scaling")
def rotary_frequencies(model):
    model.add_tensor("rope_freqs.weight", [8], F32)


@case(TOKENS)
def tokens_of_one_spelling(model):
    model.set("tokenizer.ggml.tokens", ARRAY, (STRING, ["a"] * 258))


@case(LOAD, "embd")
def fewer_tokens_than_rows_of_the_embedding(model):
    model.tensors["token_embd.weight"].update(dims=[HIDDEN, 512], data=bytes(512 * 68))


@case(LOAD, "embd")
def more_tokens_than_rows_of_the_embedding(model):
    model.tensors["token_embd.weight"].update(dims=[HIDDEN, 16])


# Odd but right, or nothing that a header shows: any of the commands may accept these.
@case(())
def strings_of_control_characters(model):
    model.set("general.name", STRING, b"\x1b[2J\x00\xff\xfe\r\n" * 100)
    model.set(b"key\x1b[2J\n\xff", STRING, "")
    model.set("some.texts", ARRAY, (STRING, [b"\x1b[2J\n", b"\x00", b"\xc3"]))


@case(())
def weights_that_are_not_numbers(model):
    for entry in model.tensors.values():
        entry["data"] = b"\xff" * len(entry["data"])


@case(())
def norms_that_are_infinite(model):
    model.tensors[NORM]["data"] = struct.pack("<f", float("inf")) * HIDDEN


@case(())
def a_long_context(model):
    model.set("llama.context_length", UINT32, 2**31 - 1)


@case(TOKENS, "merges is missing")
def no_merges(model):
    del model.metadata["tokenizer.ggml.merges"]


@case(TOKENS, "added token 257 has 1000 bytes")
def an_added_token_of_1000_bytes(model):
    tokens = gguf_bytes.byte_tokens() + ["th", "a" * 1000]
    model.set("tokenizer.ggml.tokens", ARRAY, (STRING, tokens))


@case(())
def a_token_of_a_megabyte(model):
    tokens = gguf_bytes.byte_tokens() + ["th", "x" * 2**20]
    model.set("tokenizer.ggml.tokens", ARRAY, (STRING, tokens))


@case(())
def a_token_that_is_no_utf_8(model):
    model.set("tokenizer.ggml.tokens", ARRAY, (STRING, gguf_bytes.byte_tokens() + ["th", b"\xff\xfe\x00"]))


@case(())
def nothing_but_a_header(model):
    model.metadata, model.tensors = {}, {}


@pytest.mark.parametrize("name", CASES)
def test_wrong_files(tmp_path, name):
    change, refusing, says = CASES[name]
    model = tiny_model()
    change(model)
    model_file(tmp_path, model)
    for command, arguments in COMMANDS.items():
        done = adze(tmp_path, *arguments)
        if command in refusing:
            assert_refused(done, NAME, *says)
        else:
            assert_survived(done, NAME)
        if command in ("inspect", "explain"):
            assert not any(byte < 32 and byte != 10 or byte == 127 for byte in done.stdout)


def test_matrices_of_one_row_run(tmp_path):
    model = tiny_model()
    model.set("llama.feed_forward_length", UINT32, 1)
    for name, dims in {"ffn_gate": [HIDDEN, 1], "ffn_up": [HIDDEN, 1], "ffn_down": [1, HIDDEN]}.items():
        model.add_tensor(f"blk.0.{name}.weight", dims, F32, bytes(4 * HIDDEN))
    model_file(tmp_path, model)
    for arguments in COMMANDS.values():
        done = adze(tmp_path, *arguments)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("cache", ["bf16", "int8", "f32"])
@pytest.mark.parametrize("name", ["attn_q", "attn_k", "attn_v", "ffn_down"])
def test_a_weight_that_is_not_a_number_is_reported(tmp_path, name, cache):
    model = tiny_model()
    entry = model.tensors[f"blk.0.{name}.weight"]
    entry["data"] = b"\xff\x7f" + entry["data"][2:]  # the scale of the first block
    model_file(tmp_path, model)
    assert_refused(adze(tmp_path, *COMMANDS["run"], "--kv-dtype", cache), NAME, "weights may be damaged")


def test_truncated_files(tmp_path):
    model = tiny_model()
    data, header = model.bytes(), len(model.header())
    pick = random.Random(1)
    lengths = [0, 3, 4, 8, 16, 24, header - 1, header, len(data) - 1]
    lengths += [pick.randrange(24, header) for _ in range(40)] + [pick.randrange(header, len(data)) for _ in range(20)]
    for number, length in enumerate(lengths):
        model_file(tmp_path, data[:length])
        for command in ALL if number < 9 else ("inspect", "run"):
            assert_refused(adze(tmp_path, *COMMANDS[command]), NAME)


def test_any_field_may_hold_any_number(tmp_path):
    data = tiny_model().bytes()
    header = len(tiny_model().header())
    pick = random.Random(2)
    for _ in range(60):
        changed = bytearray(data)
        place = pick.randrange(4, header)
        value = pick.choice([0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, pick.getrandbits(64)])
        width = pick.choice([1, 4, 8])
        changed[place:place + width] = value.to_bytes(8, "little")[:width]
        model_file(tmp_path, bytes(changed))
        for command in ("json", "run"):
            assert_survived(adze(tmp_path, *COMMANDS[command]), NAME)


# --- Paths that are no files ---

def make_absent(path):
    pass


def make_loop(path):
    path.symlink_to(path)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("make", [make_absent, make_loop, Path.touch, Path.mkdir, os.mkfifo])
def test_paths_that_are_no_model(tmp_path, make, command):
    make(tmp_path / NAME)
    assert_refused(adze(tmp_path, *COMMANDS[command]), NAME)


def test_a_file_that_may_not_be_read(tmp_path):
    model_file(tmp_path, tiny_model())
    (tmp_path / NAME).chmod(0)
    nobody = {"user": 65534} if os.geteuid() == 0 else {}
    try:
        subprocess.run([BIN, "--version"], stdout=subprocess.DEVNULL, **nobody)
    except PermissionError:
        pytest.skip("the program is in a folder of root's")
    for arguments in COMMANDS.values():
        assert_refused(adze(tmp_path, *arguments, **nobody), NAME, "Permission denied")


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "", "x" * 5000, "/proc/self/mem", "/proc/self/environ"])
def test_special_paths(tmp_path, path):
    assert_refused(adze(tmp_path, "inspect", path))
    assert_refused(adze(tmp_path, "run", "-m", path, "-p", "x"))


def test_a_name_of_control_characters(tmp_path):
    name = b"two\nlines\x1b[31m\xff.gguf"
    assert_refused(adze(tmp_path, "inspect", name), "two\\x0alines\\x1b[31m\\xff.gguf")
    (tmp_path / os.fsdecode(name)).write_bytes(b"GGUF")
    assert_refused(adze(tmp_path, "run", "-m", name, "-p", "x"), "two\\x0alines\\x1b[31m\\xff.gguf")


# --- A machine that misbehaves ---

SHIM = r"""
// pread() as a faulty disk has it: FAULT says how, from the call number FROM on.
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t pread(int fd, void* out, size_t count, off_t offset) {
  static int calls = 0;
  const char* fault = getenv("FAULT");
  if (__atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) >= atoi(getenv("FROM"))) {
    if (strcmp(fault, "error") == 0) return errno = EIO, -1;
    if (strcmp(fault, "shrink") == 0 && truncate(getenv("SHRINK"), 20) != 0) abort();
    if (strcmp(fault, "interrupt") == 0 && calls % 2 == 0) return errno = EINTR, -1;
    if (strcmp(fault, "short") == 0 && count > 1000) count = 1000;
  }
  return syscall(SYS_pread64, fd, out, count, offset);
}
ssize_t pread64(int fd, void* out, size_t count, off_t offset) { return pread(fd, out, count, offset); }
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(SHIM)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "shim.so", folder / "shim.c"], check=True)
    return folder / "shim.so"


@pytest.mark.parametrize("fault", ["error", "shrink", "interrupt", "short"])
@pytest.mark.parametrize("first", [1, 2, 5])
def test_a_faulty_disk(tmp_path, shim, fault, first):
    # Reading the header takes one call, the weights several.
    model_file(tmp_path, tiny_model())
    environment = {**os.environ, "LD_PRELOAD": str(shim), "FAULT": fault, "FROM": str(first),
                   "SHRINK": str(tmp_path / NAME)}
    environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    for command in ("run", "explain"):
        done = adze(tmp_path, *COMMANDS[command], env=environment)
        if fault in ("error", "shrink"):
            assert_refused(done, NAME, "offset")
            model_file(tmp_path, tiny_model())
        else:
            assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_output_that_cannot_be_written(tmp_path, command):
    model_file(tmp_path, tiny_model())
    with open("/dev/full", "wb") as full:
        assert_refused(adze(tmp_path, *COMMANDS[command], stdout=full), "standard output", "No space left")
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = adze(tmp_path, *COMMANDS[command], stdout=write_end)
    os.close(write_end)
    # Whoever piped into `head` wants no message.
    assert (done.returncode, done.stderr) == (1, b"")
    closed = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', BIN, *COMMANDS[command]], cwd=tmp_path, input=b"the",
                            stderr=subprocess.PIPE, timeout=SECONDS)
    assert_refused(closed, "standard output")


@pytest.mark.parametrize("command", COMMANDS)
def test_messages_that_cannot_be_written_crash_nothing(tmp_path, command):
    model_file(tmp_path, b"GGUF")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([BIN, *COMMANDS[command]], cwd=tmp_path, input=b"", stdout=subprocess.PIPE, stderr=full,
                              timeout=SECONDS)
    assert (done.returncode, done.stdout) == (1, b"")
    closed = subprocess.run(["sh", "-c", 'exec "$0" "$@" 2>&-', BIN, *COMMANDS[command]], cwd=tmp_path, input=b"",
                            timeout=SECONDS)
    assert closed.returncode == 1


def test_input_that_cannot_be_read(tmp_path):
    model_file(tmp_path, tiny_model())
    for arguments in (COMMANDS["tokenize"], ["run", "-m", NAME, "--no-chat"]):
        folder = os.open(tmp_path, os.O_RDONLY)
        done = adze(tmp_path, *arguments, stdin=folder)
        os.close(folder)
        assert_refused(done, "standard input")


def test_closed_input_is_no_empty_prompt(tmp_path):
    model_file(tmp_path, tiny_model())
    for arguments in (COMMANDS["tokenize"], ["run", "-m", NAME, "--no-chat", "-p", "-"]):
        done = subprocess.run(["sh", "-c", 'exec "$0" "$@" <&-', BIN, *arguments], cwd=tmp_path, capture_output=True,
                              timeout=SECONDS)
        assert_refused(done, "standard input")


def test_a_limit_of_file_size_is_an_error_and_no_signal(tmp_path):
    model_file(tmp_path, tiny_model())
    arguments = ["explain", "-m", NAME, "--format", "svg"]
    done = subprocess.run(["sh", "-c", 'ulimit -f 1; exec "$0" "$@" >out', BIN, *arguments], cwd=tmp_path,
                          stderr=subprocess.PIPE, timeout=SECONDS)
    assert_refused(done, "standard output", "File too large")


def test_statistics_that_cannot_be_written_cost_no_answer(tmp_path):
    model_file(tmp_path, tiny_model())
    with open("/dev/full", "wb") as full:
        done = subprocess.run([BIN, "run", "-m", NAME, "-p", "x", "--no-chat", "-n", "2", "--temp", "0"], cwd=tmp_path,
                              stdout=subprocess.PIPE, stderr=full, timeout=SECONDS)
    assert done.returncode == 0 and done.stdout


@pytest.mark.skipif(SANITIZED is not None, reason="sanitizers need the address space")
def test_no_thread_for_the_tokenizer(tmp_path):
    model_file(tmp_path, tiny_model())
    (tmp_path / "few").write_text("import os, resource, sys\n"
                                  "resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))\n"
                                  "program = os.open(sys.argv[1], os.O_RDONLY)  # its folder may be closed to others\n"
                                  "os.getuid() or os.setuid(65534)\n"
                                  "os.execve(program, sys.argv[1:], os.environ)\n")
    tmp_path.chmod(0o755)
    done = subprocess.run([sys.executable, "few", BIN, "run", "-m", NAME, "-p", "x", "--no-chat", "-n", "1",
                           "--threads", "1"], cwd=tmp_path, capture_output=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(SANITIZED is not None, reason="sanitizers need the address space")
def test_too_little_memory(tmp_path):
    model_file(tmp_path, tiny_model())
    for kib in (20000, 40000, 80000, 160000, 320000):
        done = subprocess.run(["sh", "-c", f'ulimit -v {kib}; exec "$0" "$@"', BIN, *COMMANDS["run"]], cwd=tmp_path,
                              capture_output=True, timeout=SECONDS)
        if done.returncode != 127:  # the loader itself found no memory
            assert_survived(done)


@pytest.mark.skipif(SANITIZED is not None, reason="sanitizers need the address space")
def test_too_many_threads(tmp_path):
    model_file(tmp_path, tiny_model())
    arguments = ["run", "-m", NAME, "-p", "x", "--no-chat", "-n", "1", "--threads", "1024"]
    done = subprocess.run(["sh", "-c", 'ulimit -v 2000000; exec "$0" "$@"', BIN, *arguments], cwd=tmp_path,
                          capture_output=True, timeout=SECONDS)
    assert_refused(done, "threads")


# --- Numbers on the command line and in the prompt ---

@pytest.mark.parametrize("option", ["--threads", "--context", "--activation-group", "--max-tokens", "--top-k",
                                    "--top-p", "--min-p", "--temp", "--seed", "--chunk"])
@pytest.mark.parametrize("value", ["-1", "nan", "inf", "1e308", "2147483648", "18446744073709551616", "", "x"])
def test_wrong_numbers(tmp_path, option, value):
    model_file(tmp_path, tiny_model())
    arguments = [word for word in COMMANDS["run"] if word not in ("--seed", "1")]
    done = adze(tmp_path, *arguments, f"{option}={value}")
    assert done.returncode in (0, 1, 2), done.stderr
    assert done.returncode != 1 or done.stderr.count(b"\n") == 1, done.stderr
    assert b"Sanitizer" not in done.stderr and b"runtime error" not in done.stderr
    if done.returncode == 0:  # large, but a number of that kind
        assert (option, value) in (("--seed", "2147483648"), ("--temp", "1e308"), ("--temp", "2147483648"),
                                   ("--temp", "18446744073709551616"))


@pytest.mark.parametrize("ids", ["-1", "258", "2147483647", "2147483648", "99999999999999999999", "1.5", "x", "\x1b",
                                 "", "0 " * CONTEXT])
def test_wrong_token_ids(tmp_path, ids):
    model_file(tmp_path, tiny_model())
    done = adze(tmp_path, "run", "-m", NAME, "--no-chat", "--prompt-ids", "-n", "1", "-p", ids)
    assert_refused(done, "prompt")
    if ids.strip():
        decoded = adze(tmp_path, "tokenize", "-m", NAME, "--decode", input=ids.encode())
        assert_survived(decoded)
