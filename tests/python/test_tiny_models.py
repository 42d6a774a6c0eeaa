"""Random models in Hugging Face folders (tests/golden/tiny) against what transformers made of them."""
import json
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest
import safetensors.numpy

TINY = pathlib.Path(__file__).parent.parent / "golden" / "tiny"
BIN = os.environ.get("ADZE_BIN")
LOGITS = os.environ.get("ADZE_LOGITS")
pytestmark = pytest.mark.skipif(not BIN or not LOGITS, reason="ADZE_BIN or ADZE_LOGITS is not set")

FLOAT = ["--activations", "f32", "--kv-dtype", "f32"]
NAMES = sorted(path.name for path in TINY.iterdir())


def expected(name):
    return json.loads((TINY / name / "expected.json").read_text())


def engine_logits(folder, ids, tmp_path, *options):
    (tmp_path / "ids").write_text(" ".join(map(str, ids)))
    subprocess.run([LOGITS, "-m", folder, "--ids", tmp_path / "ids", "--out", tmp_path / "out", *FLOAT, *options],
                   check=True)
    return np.fromfile(tmp_path / "out", "<f4").reshape(len(ids), -1)


def largest_error(name, folder, tmp_path, *options):
    """In parts of the range of the logits."""
    right = np.load(TINY / name / "logits.npy")
    return np.abs(engine_logits(folder, expected(name)["ids"], tmp_path, *options) - right).max() / np.ptp(right)


@pytest.mark.parametrize("name", NAMES)
def test_logits_equal_those_of_transformers(name, tmp_path, capsys):
    errors = [largest_error(name, TINY / name, tmp_path, "--chunk", chunk) for chunk in ("256", "1", "7")]
    with capsys.disabled():
        print(f"\n{name}: largest error {max(errors):.1e} of the range of the logits")
    assert max(errors) <= 1e-4


@pytest.mark.parametrize("name", NAMES)
def test_text_has_the_tokens_of_transformers(name):
    wanted = expected(name)
    done = subprocess.run([BIN, "tokenize", "-m", TINY / name, "--ids"], input=wanted["text"].encode(),
                          capture_output=True, check=True)
    assert list(map(int, done.stdout.split())) == wanted["ids"]


def inspect_json(folder):
    done = subprocess.run([BIN, "inspect", folder, "--json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_inspect_shows_what_the_safetensors_package_reads(name):
    shown = inspect_json(TINY / name)
    config = json.loads((TINY / name / "config.json").read_text())
    assert (shown["format"], shown["config"]) == ("safetensors", config)
    parts = sorted((TINY / name).glob("*.safetensors"))
    assert shown["parts"] == len(parts)
    listed = {(t["part"], t["name"]): (t["dtype"], t["shape"]) for t in shown["tensors"]}
    read = {}
    for number, path in enumerate(parts, 1):
        with safetensors.safe_open(path, "numpy") as file:
            for tensor in file.keys():
                part = file.get_slice(tensor)
                read[number, tensor] = part.get_dtype(), part.get_shape()
    assert listed == read
    assert shown["total"]["tensors"] == len(read)
    assert shown["total"]["bytes"] == sum(t["bytes"] for t in shown["tensors"])


def test_inspect_lists_types_that_nothing_computes_on(tmp_path):
    kinds = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1", "U64": "u8",
             "U32": "u4", "U16": "u2", "U8": "u1", "BOOL": "?"}
    shapes = [(), (0,), (3,), (2, 0), (2, 3), (2, 1, 2, 1, 2)]
    tensors = {f"{kind}.{len(shape)}.{size}": np.zeros(shape, code) for kind, code in kinds.items()
               for size, shape in enumerate(shapes)}
    safetensors.numpy.save_file(tensors, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text("{}")
    shown = inspect_json(tmp_path)
    raw = (tmp_path / "model.safetensors").read_bytes()
    header = json.loads(raw[8:8 + int.from_bytes(raw[:8], "little")])
    assert len(shown["tensors"]) == len(tensors)
    for tensor in shown["tensors"]:
        value = tensors[tensor["name"]]
        assert tensor["dtype"] == tensor["name"].split(".")[0] == header[tensor["name"]]["dtype"]
        assert (tuple(tensor["shape"]), tensor["bytes"]) == (value.shape, value.nbytes)
        assert tensor["offset"] == len(raw) - sum(v.nbytes for v in tensors.values()) \
            + header[tensor["name"]]["data_offsets"][0]
    assert set(shown["dtypes"]) == set(kinds)


def test_inspect_text(tmp_path):
    done = subprocess.run([BIN, "inspect", TINY / "llama_bf16_sharded", "--tensors"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    for part in ("weights in 5 files", "hidden_size", "lm_head.weight", "280 × 32", "BF16"):
        assert part in done.stdout


def test_a_type_without_kernels_is_refused_when_used(tmp_path):
    folder = shutil.copytree(TINY / "llama_f32", tmp_path / "folder")
    path = folder / "model.safetensors"
    tensors = safetensors.numpy.load_file(path)
    tensors["model.norm.weight"] = tensors["model.norm.weight"].astype(np.float64)
    safetensors.numpy.save_file(tensors, path)
    done = subprocess.run([BIN, "run", "-m", folder, "-p", "x", "-n", "1"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"adze: {path}: tensor model.norm.weight: type F64 is not supported\n"


@pytest.mark.parametrize("name", NAMES)
def test_run_answers_with_the_likeliest_token(name):
    """After the tokens where its margin is widest: far more than rounding the cache to bf16 moves."""
    best_two = np.sort(np.load(TINY / name / "logits.npy"), -1)[:, -2:]
    margins = best_two[:, 1] - best_two[:, 0]
    last = int(margins[64:].argmax()) + 64  # a prompt longer than the windows
    prompt = " ".join(map(str, expected(name)["ids"][:last + 1]))
    done = subprocess.run([BIN, "run", "-m", TINY / name, "--prompt-ids", "-p", prompt, "--temp", "0", "-n", "1",
                           "--ignore-eos", "--json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["tokens"] == [int(np.load(TINY / name / "logits.npy")[last].argmax())]


@pytest.mark.parametrize("off, fused", [([], {"fuse_bias": 14, "fuse_activation": 0}),
                                        (["--disable-pass", "fuse_gate_up"], {"fuse_bias": 14, "fuse_activation": 2}),
                                        (["--disable-pass", "fuse_bias"], {"fuse_qkv": 2, "fuse_activation": 0})])
def test_biases_and_activations_fuse_without_changing_a_bit(off, fused):
    """Two layers, each with seven projections that have a bias, and one activation."""
    done = subprocess.run([BIN, "explain", "-m", TINY / "llama_f32_bias", "--verify", "--format", "json", *off],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    passes = {entry["name"]: entry for entry in json.loads(done.stdout)["passes"]}
    assert {name: len(passes[name]["changes"]) for name in fused} == fused
