"""Engine files: the same answers as the model they were made from, and files that are not what they say.

ADZE_BIN: the program. ADZE_SANITIZED_BIN: one built with sanitizers, used instead where it is set.
"""
import copy
import hashlib
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import time

import pytest

SANITIZED = os.environ.get("ADZE_SANITIZED_BIN")
BIN = SANITIZED or os.environ.get("ADZE_BIN")
LOGITS = os.environ.get("ADZE_LOGITS")
GEMMA = os.environ.get("ADZE_GEMMA")
pytestmark = pytest.mark.skipif(not BIN, reason="neither ADZE_SANITIZED_BIN nor ADZE_BIN is set")
TINY = pathlib.Path(__file__).parents[1] / "golden" / "tiny"
NAMES = sorted(path.name for path in TINY.iterdir())
HEADER, PAGE = 128, 4096


def adze(*arguments, **options):
    return subprocess.run([BIN, *map(str, arguments)], capture_output=True, text=True, timeout=120, **options)


def compiled(name, folder):
    out = folder / f"{name}.adze"
    done = adze("compile", TINY / name, out)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    return compiled("gemma3_bf16", tmp_path_factory.mktemp("engine"))


def refused(done, *parts):
    assert done.returncode == 1, (done.returncode, done.stdout, done.stderr)
    assert done.stderr.startswith("adze: ") and done.stderr.count("\n") == 1, done.stderr
    for part in parts:
        assert str(part) in done.stderr, done.stderr


def run(path, *options):
    return adze("run", "-m", path, "--no-chat", "-p", "ab", "-n", "4", "--temp", "0", "--ignore-eos", *options)


# --- The same model ---

@pytest.mark.skipif(not LOGITS or SANITIZED is not None, reason="ADZE_LOGITS is not set, or of another build")
@pytest.mark.parametrize("name", NAMES)
def test_logits_are_the_same_bits(name, tmp_path):
    out = compiled(name, tmp_path)
    (tmp_path / "ids").write_text(" ".join(map(str, json.loads((TINY / name / "expected.json").read_text())["ids"])))
    found = []
    for model in (TINY / name, out):
        for options in ([], ["--activations", "f32", "--kv-dtype", "f32"]):
            subprocess.run([LOGITS, "-m", model, "--ids", tmp_path / "ids", "--out", tmp_path / "out", *options],
                           check=True)
            found.append((tmp_path / "out").read_bytes())
    assert found[:2] == found[2:]


@pytest.mark.parametrize("name", NAMES)
def test_text_template_and_answers_are_the_same(name, tmp_path):
    out = compiled(name, tmp_path)
    for arguments in (["run", "-m", "MODEL", "-p", "Hello", "-n", "8", "--temp", "0"],
                      ["tokenize", "-m", "MODEL"], ["explain", "-m", "MODEL", "--verify"]):
        found = []
        for model in (TINY / name, out):
            done = adze(*[str(model) if part == "MODEL" else part for part in arguments],
                        input="Grüße, <|im_end|> 12 Wörter\n")
            assert done.returncode == 0, done.stderr
            found.append([line for line in done.stdout.splitlines() if " ms" not in line and str(model) not in line])
        assert found[0] == found[1]
        assert found[0]


def test_it_needs_nothing_of_what_it_was_made_from(tmp_path):
    shutil.copytree(TINY / "llama_f32", tmp_path / "model")
    assert adze("compile", tmp_path / "model", tmp_path / "out").returncode == 0
    expected = run(tmp_path / "model").stdout
    shutil.rmtree(tmp_path / "model")
    assert run(tmp_path / "out").stdout == expected


def test_inspect_says_what_it_is(engine):
    out = json.loads(adze("inspect", engine, "--json").stdout)
    assert out["format"] == "engine" and out["version"] == 1
    assert out["bytes"] == engine.stat().st_size
    assert out["source"]["name"].endswith("gemma3_bf16") and len(out["source"]["weights_sha256"]) == 64
    assert out["config"]["architecture"] == "gemma3"
    text = adze("inspect", engine, "--tensors").stdout
    assert "Engine file version 1" in text and "packed:token_embedding" in text


def test_the_same_model_makes_the_same_file(tmp_path, engine):
    assert compiled("gemma3_bf16", tmp_path).read_bytes() == engine.read_bytes()


# --- What cannot be written ---

def test_the_model_itself_is_not_overwritten(tmp_path, engine):
    model = tmp_path / "model.adze"
    shutil.copy(engine, model)
    (tmp_path / "link").symlink_to(model)
    before = model.read_bytes()
    refused(adze("compile", model, model), "is the model itself")
    refused(adze("compile", model, tmp_path / "link"), "is the model itself")
    refused(adze("compile", model, tmp_path / "again.adze"), "is compiled already")
    refused(adze("compile", TINY / "llama_f32", tmp_path), "is a folder")
    refused(adze("compile", TINY / "llama_f32", tmp_path / "no" / "such"), "cannot create")
    refused(adze("compile", tmp_path / "absent.gguf", tmp_path / "x"), "absent.gguf")
    assert adze("compile", TINY / "llama_f32").returncode == 2
    assert model.read_bytes() == before and sorted(p.name for p in tmp_path.iterdir()) == ["link", "model.adze"]


def test_a_full_disk_leaves_what_was_there(tmp_path):
    out = tmp_path / "out"
    out.write_text("before")
    done = subprocess.run(["sh", "-c", 'ulimit -f 16; exec "$0" "$@"', BIN, "compile", TINY / "llama_f32", out],
                          capture_output=True, text=True, timeout=120)
    refused(done, out, "File too large")
    assert out.read_text() == "before" and list(tmp_path.iterdir()) == [out]


@pytest.mark.skipif(not GEMMA or SANITIZED is not None, reason="ADZE_GEMMA is not set, or sanitizers are too slow")
@pytest.mark.parametrize("seconds", [0.2, 0.8, 1.2, 1.6])
def test_an_interrupted_compilation_leaves_nothing(seconds, tmp_path):
    process = subprocess.Popen([BIN, "compile", GEMMA, tmp_path / "out"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    left = list(tmp_path.iterdir())
    assert left == ([tmp_path / "out"] if process.returncode == 0 else [])


# --- Files that are not what they say ---

def parts(data):
    """The table and the bytes of the sections."""
    size = struct.unpack_from("<Q", data, 24)[0]
    return json.loads(data[HEADER:HEADER + size]), data[-(-(HEADER + size) // PAGE) * PAGE:]


def rebuilt(table, sections, version=1):
    """A file with another table, its header in order."""
    text = table if isinstance(table, bytes) else json.dumps(table, separators=(",", ":"), ensure_ascii=False).encode()
    begin = -(-(HEADER + len(text)) // PAGE) * PAGE
    header = b"ADZEMOD\n" + struct.pack("<IIQQ", version, 0, begin + len(sections), len(text))
    header += hashlib.sha256(text).hexdigest().encode()
    return (header.ljust(HEADER, b"\0") + text).ljust(begin, b"\0") + sections


def test_a_file_put_together_by_hand_runs(engine, tmp_path):
    """What the other tests change is otherwise right."""
    (tmp_path / "out").write_bytes(rebuilt(*parts(engine.read_bytes())))
    assert run(tmp_path / "out").stdout == run(engine).stdout


def test_other_versions_and_layouts_say_what_to_do(engine, tmp_path):
    table, sections = parts(engine.read_bytes())
    bad = tmp_path / "bad.adze"
    bad.write_bytes(rebuilt(table, sections, version=2))
    refused(run(bad), bad, "version 2; this program reads version 1: compile the model again")
    table["model"]["packed_layout"] = "panels32-9"
    bad.write_bytes(rebuilt(table, sections))
    refused(run(bad), bad, "the layout 'panels32-9', not in 'panels16-1'", "compile the model again")
    assert adze("tokenize", "-m", bad, input="x").returncode == 0  # that does not depend on it


def test_truncated_files(engine, tmp_path):
    data = engine.read_bytes()
    bad = tmp_path / "bad.adze"
    for size in [9, 31, 95, 127, 128, 200, 4095, 4096, len(data) // 2, len(data) - 1]:
        bad.write_bytes(data[:size])
        refused(run(bad), bad)
        refused(adze("inspect", bad), bad)


def test_a_damaged_header_or_table(engine, tmp_path):
    data = engine.read_bytes()
    bad = tmp_path / "bad.adze"
    for at in [8, 12, 16, 17, 24, 26, 31, 32, 95, 128, 1000]:
        bad.write_bytes(data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1:])
        refused(run(bad), bad)


def mutations(table):
    """Tables in which one thing is missing, of another type or out of range, as JSON text."""
    def change(path, value):
        changed = copy.deepcopy(table)
        place = changed
        for key in path[:-1]:
            place = place[key]
        if value is None:
            del place[path[-1]]
        else:
            place[path[-1]] = value
        return changed

    yield b"", b"[]", b"{", b"{}", b"\xff", b"[" * 100000
    leaves = [("model", "config", key) for key in table["model"]["config"]]
    leaves += [("model", "tokenizer", key) for key in table["model"]["tokenizer"]]
    leaves += [("model", "config", "rope", 0, key) for key in table["model"]["config"]["rope"][0]]
    leaves += [("model", key) for key in table["model"]] + [("model",), ("sections",)]
    leaves += [("model", "weights", key) for key in list(table["model"]["weights"])[:6]]
    for path in leaves:
        for value in (None, -1, 0, 3, 2**31, 2**63, 1.5, "x", [], [-1], [2**62, "x"], {}, True, "\ud7ff" * 3):
            yield change(path, value),
    for i in range(len(table["sections"])):
        name, offset, size = table["sections"][i]
        for value in ([name, offset + 1, size], [name, offset, size + 64], [name, 2**63, size], [name, offset, 2**64 - 1],
                      [name, offset], ["x", offset, size], [name, offset, max(0, size - 1)], [name, 0, size]):
            yield change(("sections", i), value),


def test_a_table_that_contradicts_itself_is_one_line_or_no_matter(engine, tmp_path):
    table, sections = parts(engine.read_bytes())
    bad = tmp_path / "bad.adze"
    outcomes = {0: 0, 1: 0}
    every = 9 if SANITIZED is not None else 1
    for tables in list(mutations(table))[::every]:
        for changed in tables:
            bad.write_bytes(rebuilt(changed, sections))
            done = run(bad)
            assert done.returncode in (0, 1), (done.returncode, done.stderr)
            if done.returncode == 1:
                refused(done)
            outcomes[done.returncode] += 1
    assert outcomes[1] > 5 * outcomes[0], outcomes


def test_a_file_that_is_cut_while_it_runs_is_an_error(engine, tmp_path):
    model = tmp_path / "model.adze"
    shutil.copy(engine, model)
    process = subprocess.Popen([BIN, "run", "-m", model, "-n", "4", "--temp", "0", "--ignore-eos"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdin.write("one\n")
    process.stdin.flush()
    assert process.stdout.readline()
    os.truncate(model, PAGE)
    _, stderr = process.communicate("two\n", timeout=60)
    assert process.returncode == 1, (process.returncode, stderr)
    assert stderr.splitlines()[-1].startswith("adze: ") and "was it cut since it was opened?" in stderr
