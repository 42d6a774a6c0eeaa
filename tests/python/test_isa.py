"""One binary, several instruction sets: the same tokens, and no illegal instruction on a CPU without AVX-512."""
import json
import os
import shutil
import subprocess

import pytest

BIN = os.environ.get("ADZE_BIN")
MODEL = os.environ.get("ADZE_MODEL")
pytestmark = pytest.mark.skipif(not BIN or not MODEL, reason="ADZE_BIN or ADZE_MODEL is not set")


def answer(command=(), isa="", tokens=8):
    done = subprocess.run([*command, BIN, "run", "-m", MODEL, "-p", "The capital of France is", "--no-chat", "--temp",
                           "0", "-n", str(tokens), "--json"], capture_output=True, text=True,
                          env={**os.environ, "ADZE_ISA": isa})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_reference_and_vector_kernels_give_the_same_tokens():
    assert answer(isa="reference")["tokens"] == answer()["tokens"]


def test_runs_on_an_emulated_haswell():
    qemu = shutil.which("qemu-x86_64")
    if qemu is None:
        pytest.skip("qemu-x86_64 is not installed")
    emulated = answer([qemu, "-cpu", "Haswell"], tokens=2)
    assert emulated["isa"] == "avx2"
    assert emulated["tokens"] == answer(tokens=2)["tokens"]


@pytest.mark.parametrize("isa", ["sse9", "AVX2"])
def test_unknown_isa_is_refused(isa):
    done = subprocess.run([BIN, "run", "-m", MODEL, "-p", "x", "--no-chat"], capture_output=True, text=True,
                          env={**os.environ, "ADZE_ISA": isa})
    assert done.returncode == 1
    assert done.stderr.startswith("adze: ADZE_ISA:") and done.stderr.count("\n") == 1
