"""The program from outside: exit codes, where messages go, and `adze inspect` against the Python package `gguf`.

ADZE_BIN: the program; without it the tests are skipped. ADZE_MODEL: a real model, optional.
"""

import json
import os
import subprocess
from pathlib import Path

import gguf
import numpy as np
import pytest

GOLDEN = Path(__file__).parent.parent / "golden" / "gguf"
BIN = os.environ.get("ADZE_BIN")
MODEL = os.environ.get("ADZE_MODEL")
pytestmark = pytest.mark.skipif(not BIN, reason="ADZE_BIN is not set")

EVERY_TYPE = GOLDEN / "every_type_v3.gguf"


def adze(*arguments, **options):
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([BIN, *arguments], stderr=subprocess.PIPE, timeout=60, text=True, **options)


def assert_one_line_error(done, *parts):
    assert done.returncode == 1
    assert done.stderr.startswith("adze: ") and done.stderr.count("\n") == 1, done.stderr
    for part in parts:
        assert part in done.stderr


def test_help_and_version():
    for arguments in (["--help"], ["inspect", "--help"], ["--version"]):
        done = adze(*arguments)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.strip()
    assert "Examples:" in adze("inspect", "--help").stdout


@pytest.mark.parametrize("arguments", [[], ["carve"], ["inspect"], ["inspect", "a", "b"], ["inspect", "a", "--fast"]])
def test_wrong_usage_is_2_and_speaks_on_stderr(arguments):
    done = adze(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--help" in done.stderr


def test_wrong_files_are_1_and_named(tmp_path):
    assert_one_line_error(adze("inspect", tmp_path / "absent.gguf"), "absent.gguf", "No such file")
    assert_one_line_error(adze("inspect", tmp_path), str(tmp_path), "config.json: cannot open")  # a folder is a model
    (tmp_path / "empty.gguf").touch()
    assert_one_line_error(adze("inspect", tmp_path / "empty.gguf"), "empty.gguf")
    os.mkfifo(tmp_path / "fifo")
    assert_one_line_error(adze("inspect", tmp_path / "fifo"), "fifo", "not a regular file")
    assert_one_line_error(adze("inspect", GOLDEN / "big_endian.gguf"), "big-endian")
    (tmp_path / "two\nlines.gguf").write_bytes(EVERY_TYPE.read_bytes()[:100])
    assert_one_line_error(adze("inspect", tmp_path / "two\nlines.gguf"), "two\\x0alines.gguf", "offset")


def test_output_that_cannot_be_written_is_1():
    with open("/dev/full", "w") as full:
        assert_one_line_error(adze("inspect", EVERY_TYPE, stdout=full), "standard output", "No space left")
        assert_one_line_error(adze("--help", stdout=full), "standard output")
    closed = ["sh", "-c", 'exec "$0" "$@" >&-', BIN, "inspect", EVERY_TYPE]
    done = subprocess.run(closed, stderr=subprocess.PIPE, text=True, timeout=60)
    assert_one_line_error(done, "standard output")
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = adze("inspect", EVERY_TYPE, "--all", stdout=write_end)
    os.close(write_end)
    # Whoever piped into `head` wants no message.
    assert done.returncode == 1
    assert done.stderr == ""


def plain(value):
    return value.tolist() if isinstance(value, np.generic) else value


def assert_matches_gguf(shown, path):
    reader = gguf.GGUFReader(path)
    fields = {key: field for key, field in reader.fields.items() if not key.startswith("GGUF.")}
    assert shown["version"] == reader.fields["GGUF.version"].contents()
    assert shown["alignment"] == reader.alignment
    assert [entry["key"] for entry in shown["metadata"]] == list(fields)
    for entry, field in zip(shown["metadata"], fields.values()):
        contents = field.contents()
        if field.types[0] == gguf.GGUFValueType.ARRAY:
            assert entry["length"] == len(contents)
        assert entry["value"] == plain(contents), entry["key"]
    assert len(shown["tensors"]) == len(reader.tensors)
    for ours, theirs in zip(shown["tensors"], reader.tensors):
        assert ours["name"] == theirs.name
        assert ours["dtype"] == theirs.tensor_type.name
        assert ours["shape"] == theirs.shape.tolist()[::-1]
        assert ours["bytes"] == theirs.n_bytes
        assert ours["offset"] == theirs.data_offset
    assert shown["total"] == {
        "tensors": len(reader.tensors),
        "parameters": sum(tensor.n_elements for tensor in reader.tensors),
        "bytes": sum(tensor.n_bytes for tensor in reader.tensors),
    }


def test_inspect_json_says_what_gguf_says():
    files = [EVERY_TYPE, GOLDEN / "every_type_v2.gguf", GOLDEN / "aligned_64.gguf", *([MODEL] if MODEL else [])]
    for path in files:
        done = adze("inspect", path, "--json", "--all")
        assert (done.returncode, done.stderr) == (0, "")
        assert_matches_gguf(json.loads(done.stdout), path)


def test_inspect_text():
    text = adze("inspect", EVERY_TYPE, "--tensors").stdout
    lines = [line.split() for line in text.splitlines()]
    assert ["one.i64", "i64", "-9223372036854775808"] in lines
    assert ["many.u64", "u64[3]", "18446744073709551615,", "0,", "8589934592"] in lines
    assert ["one.f64", "f64", "0.1"] in lines
    assert ["three.q4_0", "Q4_0", "3", "×", "4", "×", "32", "216"] in lines
    assert "größer ≥ 🪵\\x0a" in text
    assert not any(ord(character) < 32 and character != "\n" for character in text)
    short = adze("inspect", EVERY_TYPE).stdout
    assert "three.q4_0" not in short
    split = adze("inspect", GOLDEN / "split-00001-of-00003.gguf").stdout
    assert "3 parts" in split
