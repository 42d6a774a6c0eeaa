"""The installed public interface: samples built outside the tree, over CMake's and pkg-config's way, and run.

The samples of the build tree are found beside ADZE_BIN; without it and ADZE_MODEL the tests are skipped.
"""
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parent.parent.parent
BIN = os.environ.get("ADZE_BIN")
MODEL = os.environ.get("ADZE_MODEL")
pytestmark = pytest.mark.skipif(not BIN or not MODEL, reason="ADZE_BIN or ADZE_MODEL is not set")

QUESTION = "What is the capital of France?"


def call(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def answer_of_the_program():
    return call(BIN, "run", "-m", MODEL, "-p", QUESTION, "--temp", "0", "-n", "12").strip()


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    call("cmake", "--install", pathlib.Path(BIN).parent.parent, "--component", "development", "--prefix", folder)
    return folder


def test_samples_answer_as_the_program_does():
    samples = pathlib.Path(BIN).parent
    expected = answer_of_the_program()
    assert call(samples / "adze_generate_c", MODEL, QUESTION, "12").strip() == expected
    both = call(samples / "adze_generate_cpp", MODEL, QUESTION, "Name a colour.").splitlines()
    assert both[0] == QUESTION and both[1] == expected and "Name a colour." in both


def test_a_project_outside_the_tree_finds_adze_with_cmake(prefix, tmp_path):
    call("cmake", "-G", "Ninja", "-S", ROOT / "samples", "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}")
    assert str(prefix) in (tmp_path / "CMakeCache.txt").read_text()
    call("cmake", "--build", tmp_path)
    assert call(tmp_path / "adze_generate_c", MODEL, QUESTION, "12").strip() == answer_of_the_program()


def test_a_c_compiler_finds_adze_with_pkg_config(prefix, tmp_path):
    package = next(prefix.rglob("adze.pc"))
    env = {**os.environ, "PKG_CONFIG_PATH": str(package.parent), "LD_LIBRARY_PATH": str(package.parent.parent)}
    flags = call("pkg-config", "--cflags", "--libs", "adze", env=env).split()
    call("cc", "-std=c11", "-Wall", "-Werror", "-pedantic", ROOT / "samples" / "c" / "generate.c", *flags,
         "-o", tmp_path / "generate")
    assert call(tmp_path / "generate", MODEL, QUESTION, "12", env=env).strip() == answer_of_the_program()


def test_the_library_exports_the_interface_alone(prefix):
    library = next(prefix.rglob("libadze.so"))
    names = [line.split(maxsplit=2)[2] for line in call("nm", "-DC", "--defined-only", library).splitlines()]
    ours = re.compile(r"adze_|adze::(Model|Tokenizer|Engine)::|adze::version\(\)$|(typeinfo|typeinfo name|vtable) for adze::Error$")
    assert [name for name in names if not ours.match(name)] == []
    declared = set(re.findall(r"\b(adze_\w+)\(", (ROOT / "include" / "adze" / "adze.h").read_text()))
    assert declared == {name for name in names if name.startswith("adze_")}


def test_a_sample_says_what_is_wrong():
    done = subprocess.run([pathlib.Path(BIN).parent / "adze_generate_c", "/no/such.gguf", "x"], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "/no/such.gguf" in done.stderr
