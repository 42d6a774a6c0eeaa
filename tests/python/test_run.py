"""`adze run` and `adze explain` from outside, on a real model."""
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

BIN = os.environ.get("ADZE_BIN")
MODEL = os.environ.get("ADZE_MODEL")
RECORDED = json.loads((pathlib.Path(__file__).parent.parent / "golden" / "llamacpp_smollm2.json").read_text())
pytestmark = pytest.mark.skipif(not BIN or not MODEL, reason="ADZE_BIN or ADZE_MODEL is not set")


def adze(*arguments, **options):
    return subprocess.run([BIN, *arguments], capture_output=True, text=True, timeout=120, **options)


def run(*arguments, **options):
    done = adze("run", "-m", MODEL, *arguments, **options)
    assert done.returncode == 0, done.stderr
    return done


def run_json(*arguments, **options):
    return json.loads(run("--json", *arguments, **options).stdout)


def test_answers_a_question_through_the_chat_template():
    done = run("-p", "What is the capital of France? Answer with one word.", "--temp", "0", "-n", "16")
    assert "Paris" in done.stdout
    assert "<|im" not in done.stdout
    assert "first token" in done.stderr and "peak memory" in done.stderr


def test_chat_prompt_has_the_tokens_of_jinja_and_llamacpp():
    for answer in RECORDED["answers"][:5]:
        options = ["--temp", "0", "-n", "4"]
        chat = run_json("-p", answer["prompt"], *options)
        ids = run_json("-p", " ".join(map(str, answer["prompt_ids"])), "--prompt-ids", *options)
        assert chat["prompt_tokens"] == len(answer["prompt_ids"])
        assert chat["tokens"] == ids["tokens"]


def test_prompt_comes_from_a_pipe_too():
    answers = [run_json("-p", "Name a colour.", "--temp", "0", "-n", "8"),
               run_json("--temp", "0", "-n", "8", input="Name a colour.\n")]
    assert answers[0]["tokens"] == answers[1]["tokens"]


def test_streamed_text_is_the_text():
    options = ["-p", "Once upon a time", "--no-chat", "--temp", "0", "-n", "24"]
    assert run(*options).stdout == run_json(*options)["text"] + "\n"


def test_seed_decides_a_sampled_answer():
    options = ["-p", "Tell me a story.", "-n", "24", "--temp", "1.2"]
    first, again = run_json(*options, "--seed", "5"), run_json(*options, "--seed", "5", "--threads", "1", "--chunk", "3")
    other = run_json(*options, "--seed", "6")
    assert first["tokens"] == again["tokens"]
    assert first["tokens"] != other["tokens"]


def test_stop_string_ends_the_text_before_it():
    options = ["-p", "1 2 3 4 5", "--no-chat", "--temp", "0", "-n", "32"]
    whole = run_json(*options)["text"]
    stop = whole[8:11]
    cut = run_json(*options, "--stop", stop)
    assert cut["text"] == whole[:whole.index(stop)]
    assert cut["finish_reason"] == "stop"


def test_a_users_control_token_stays_text():
    harmless = run_json("-p", "Repeat: <|im_end|>", "--temp", "0", "-n", "1")
    control = run_json("-p", "Repeat: ", "--temp", "0", "-n", "1")
    assert harmless["prompt_tokens"] > control["prompt_tokens"] + 3


def test_peak_memory_is_the_weights_and_little_more():
    tensors = sum(t["bytes"] for t in json.loads(adze("inspect", "--json", "--tensors", MODEL).stdout)["tensors"])
    cache = 64 * 30 * 2 * 192 * 2  # tokens of two blocks, layers, keys and values, kv width, bf16
    answer = run_json("-p", "Hello", "-n", "8")
    assert answer["peak_resident_bytes"] <= 1.15 * tensors + cache + 64e6


@pytest.mark.parametrize("options, part", [
    (["--temp", "nan"], "temperature"), (["--temp", "-1"], "temperature"), (["--top-p", "0"], "top_p"),
    (["--top-k", "-3"], "top_k"), (["--min-p", "2"], "min_p"), (["--stop", ""], "stop"),
    (["--temp", ""], "temp"), (["--top-p", ""], "top-p"), (["--min-p", ""], "min-p"),
    (["--disable-pass", "no_such"], "no_such"), (["--system", "x", "--no-chat"], "--no-chat"),
    (["--system", "x", "--prompt-ids"], "--prompt-ids"),
    (["--activations", "f32", "--activation-group", "32"], "--activation-group"),
])
def test_bad_options_are_named(options, part):
    done = adze("run", "-m", MODEL, "-p", "hello there my friend", *options)
    assert done.returncode == 2
    assert done.stderr.startswith("adze: ") and done.stderr.count("\n") == 2, done.stderr  # what, and --help
    assert part in done.stderr.splitlines()[0]


@pytest.mark.parametrize("options, value", [
    (["-n", "1", "--seed", "010"], ("seed", 10)), (["-n", "1", "--seed", "0"], ("seed", 0)),
    (["-n", "1", "--seed", str(2**64 - 1)], ("seed", 2**64 - 1)), (["-n", "010"], ("generated_tokens", 10)),
])
def test_numbers_are_decimal(options, value):
    assert run_json("-p", "Hi", "--ignore-eos", *options)[value[0]] == value[1]


def test_stop_texts_are_taken_as_they_are():
    whole = run_json("-p", "Say [can] twice.", "--temp", "0", "-n", "24")["text"]
    for stop in ("[can]", "--temp", "-n", ","):
        stopped = run_json("-p", "Say [can] twice.", f"--stop={stop}", "--temp", "0", "-n", "24")["text"]
        assert stopped == whole.split(stop)[0]


def test_what_was_not_measured_is_null():
    answer = run_json("-p", "Hi", "-n", "1")
    assert answer["decode_tokens_per_second"] is None and answer["prompt_tokens_per_second"] > 0


def test_a_context_longer_than_the_models_is_said():
    done = adze("run", "-m", MODEL, "-p", "Hi", "-n", "1", "--context", "100000")
    assert done.returncode == 0 and "--context 100000: the model was made for 8192" in done.stderr


@pytest.mark.parametrize("options", [
    ["-n", "0x10"], ["--seed", "0x1"], ["--seed", "-1"], ["--seed", str(2**64)], ["--threads", "1e3"], ["-n", "--1"],
    ["--top-k", str(2**32 + 1)], ["--chunk", ""],
])
def test_other_numbers_are_refused(options):
    done = adze("run", "-m", MODEL, "-p", "Hi", *options)
    assert done.returncode == 2 and options[0].lstrip("-") in done.stderr, done.stderr


@pytest.mark.parametrize("options, part", [(["--prompt-ids"], "token id"), (["--context", "4"], "context")])
def test_bad_values_are_named(options, part):
    done = adze("run", "-m", MODEL, "-p", "hello there my friend", *options)
    assert done.returncode == 1
    assert done.stderr.startswith("adze: ") and done.stderr.count("\n") == 1, done.stderr
    assert part in done.stderr


def test_wrong_usage_is_exit_code_2():
    assert adze("run", "-m", MODEL, "--no-such-option").returncode == 2
    assert adze("run", "-p", "x").returncode == 2
    assert adze("run", "-m", MODEL, "-p", "x", "-n", "0").returncode == 2


def test_missing_and_broken_models_are_named(tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(open(MODEL, "rb").read(2_000_000))
    for path in (tmp_path / "absent.gguf", broken, tmp_path):
        done = adze("run", "-m", str(path), "-p", "x")
        assert done.returncode == 1
        assert str(path) in done.stderr and done.stderr.count("\n") == 1


def test_ctrl_c_ends_an_answer_with_130():
    process = subprocess.Popen([BIN, "run", "-m", MODEL, "-p", "Count to a thousand.", "-n", "4000", "--ignore-eos"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(1)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 130


def test_explain_names_every_pass_and_its_effect():
    out = json.loads(adze("explain", "-m", MODEL, "--format", "json").stdout)
    passes = {p["name"]: p for p in out["passes"]}
    assert len(passes["fuse_qkv"]["changes"]) == 30
    assert len(passes["fuse_gate_up"]["changes"]) == 30
    assert len(passes["fuse_residual"]["changes"]) == 60
    assert out["planned"]["linear"] == 121
    assert out["memory"]["peak_bytes"] < out["memory"]["naive_bytes"] / 10
    assert "Passes" in adze("explain", "-m", MODEL).stdout


@pytest.mark.parametrize("name", ["fuse_qkv", "fuse_gate_up", "fuse_residual", "fuse_residual_norm",
                                  "fuse_rope_kv_write", "fuse_norm_quantize", "fold_constants", "eliminate_dead",
                                  "eliminate_identities", "eliminate_common_subexpressions"])
def test_a_disabled_fusion_changes_nothing_but_speed(name):
    options = ["-p", "The three largest cities are", "--no-chat", "--temp", "0", "-n", "12"]
    assert run_json(*options)["tokens"] == run_json(*options, "--disable-pass", name)["tokens"]
