"""`adze completions`, `adze man`, the help of every command, and the fields of `adze inspect --json`."""
import json
import os
import pathlib
import shutil
import subprocess

import gguf
import pytest

BIN = os.environ.get("ADZE_BIN")
pytestmark = pytest.mark.skipif(not BIN, reason="ADZE_BIN is not set")
GOLDEN = pathlib.Path(__file__).parent.parent / "golden" / "gguf"


def adze(*arguments):
    done = subprocess.run([BIN, *arguments], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def commands(*path):
    """Names of the commands, as --help lists them."""
    lines = adze(*path, "--help").splitlines()
    if "Subcommands:" not in lines:
        return []
    body = lines[lines.index("Subcommands:") + 1:]
    return [line.split()[0] for line in body[:body.index("")] if line.startswith("  ") and line[2] != " "]


def every_command():
    return [[name, *more] for name in commands() for more in [[], *([sub] for sub in commands(name))]]


def test_every_commands_help_ends_with_examples():
    assert ["models", "fetch"] in every_command()
    for path in every_command():
        text = adze(*path, "--help")
        assert f"adze {path[0]}" in text[text.index("Examples:"):]


def bash(folder, words):
    """What bash completes the last of the words to."""
    script = ('source <("$ADZE_BIN" completions bash); complete -p adze >/dev/null || exit 1; '
              'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _adze; printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True, cwd=folder, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return [line for line in done.stdout.splitlines() if line]


def fish(folder, words):
    line = " ".join(words)
    done = subprocess.run(["fish", "--no-config", "-c", f'"$ADZE_BIN" completions fish | source; complete -C "{line}"'],
                          capture_output=True, text=True, cwd=folder, timeout=60, env={**os.environ, "HOME": str(folder)})
    assert done.returncode == 0, done.stderr
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


SHELLS = [pytest.param(bash, id="bash"),
          pytest.param(fish, id="fish", marks=pytest.mark.skipif(not shutil.which("fish"), reason="no fish"))]


@pytest.mark.parametrize("complete", SHELLS)
def test_shells_complete_commands_options_and_values(complete, tmp_path):
    (tmp_path / "mine file.gguf").touch()
    assert complete(tmp_path, ["adze", "mo"]) == ["models"]
    assert set(complete(tmp_path, ["adze", "models", "f"])) == {"fetch"}
    assert complete(tmp_path, ["adze", "models", "fetch", "gem"]) == ["gemma3-270m"]
    assert set(complete(tmp_path, ["adze", "run", "--activation"])) == {"--activations", "--activation-group"}
    assert set(complete(tmp_path, ["adze", "run", "--kv-dtype", ""])) == {"bf16", "int8", "f32"}
    assert set(complete(tmp_path, ["adze", "completions", ""])) >= {"bash", "zsh", "fish"}
    assert {"smollm2-135m-instruct", "mine file.gguf"} <= {w.replace("\\", "") for w in complete(tmp_path, ["adze", "run", "-m", ""])}


@pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh")
def test_zsh_loads_its_completion(tmp_path):
    (tmp_path / "_adze").write_text(adze("completions", "zsh"))
    script = (f"fpath=({tmp_path} $fpath); autoload -U compinit; compinit -u -d {tmp_path}/dump; "
              "echo ${_comps[adze]}; autoload +X _adze; which _adze")
    done = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "_adze" and "models" in done.stdout


@pytest.mark.parametrize("checker", [["groff", "-man", "-Tutf8", "-ww", "-z", "{}"], ["man", "--warnings", "-l", "{}"]],
                         ids=["groff", "man"])
def test_the_manual_page_is_one(checker, tmp_path):
    if not shutil.which(checker[0]):
        pytest.skip(f"no {checker[0]}")
    page = tmp_path / "adze.1"
    page.write_text(adze("man"))
    done = subprocess.run([part.format(page) for part in checker], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "MANWIDTH": "200", "LC_ALL": "C.UTF-8"})
    assert (done.returncode, done.stderr) == (0, "")
    if checker[0] == "man":
        for path in every_command():
            assert "adze " + " ".join(path) in done.stdout
        assert "--kv-dtype bf16|int8|f32" in done.stdout and "EXIT STATUS" in done.stdout


def test_inspect_json_is_what_the_gguf_package_reads():
    path = GOLDEN / "every_type_v3.gguf"
    out, reader = json.loads(adze("inspect", path, "--tensors", "--json")), gguf.GGUFReader(path)
    assert list(out) == ["format", "version", "alignment", "parts", "metadata", "tensors", "dtypes", "total"]
    for tensor, expected in zip(out["tensors"], reader.tensors, strict=True):
        assert list(tensor) == ["name", "dtype", "shape", "bytes", "offset", "part"]
        assert tensor["name"] == expected.name and tensor["bytes"] == expected.n_bytes
        assert tensor["offset"] == expected.data_offset
    by_type = {}
    for tensor in reader.tensors:
        sums = by_type.setdefault(tensor.tensor_type.name.lower(), [0, 0, 0])
        for i, value in enumerate((1, tensor.n_elements, tensor.n_bytes)):
            sums[i] += int(value)
    assert {k.lower(): list(v.values()) for k, v in out["dtypes"].items()} == by_type
    assert list(out["total"].values()) == [sum(column) for column in zip(*by_type.values())]
