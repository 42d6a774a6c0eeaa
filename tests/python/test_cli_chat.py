"""`adze run` as a chat: at a terminal (a real pseudo-terminal) and in a pipe, on a real model."""
import json
import os
import pathlib
import re
import resource
import signal
import stat
import subprocess
import termios
import time

import gguf
import jinja2
import pexpect
import pytest

BIN = os.environ.get("ADZE_BIN")
MODEL = os.environ.get("ADZE_MODEL")
pytestmark = pytest.mark.skipif(not BIN or not MODEL, reason="ADZE_BIN or ADZE_MODEL is not set")

LEFT, UP, HOME, CTRL_A, CTRL_D = "\033[D", "\033[A", "\033[H", "\001", "\004"
PROMPT = r"> (\033\[0m)?"
EDITING_ENDS = r"\033\[\?2004l"  # bracketed paste is off: what follows was not typed


def wait_until(holds):
    for _ in range(200):
        if holds():
            return
        time.sleep(0.05)
    raise TimeoutError


class Terminal:
    """A chat at a terminal of 24 × 80; what was said so far is read from /save."""

    def __init__(self, folder, *options, **environment):
        self.file = folder / "conversation.json"
        env = {**os.environ, "TERM": "xterm", "LC_ALL": "C", "NO_COLOR": "1", **environment}
        self.child = pexpect.spawn(BIN, ["run", "-m", MODEL, "--temp", "0", *options], env=env, encoding="utf-8",
                                   dimensions=(24, 80), timeout=60, cwd=folder, preexec_fn=self.default_signals)
        self.child.expect("Ctrl-D leaves")
        self.child.expect(PROMPT)

    @staticmethod
    def default_signals():
        """A runner in the background may ignore some, which children inherit."""
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.close(force=True)

    def ask(self, text, until=PROMPT):
        """Types a line; what appears until the next prompt, the echo of the line first."""
        self.child.send(text + "\r")
        self.child.expect("\r\n")
        self.child.expect(until)
        return self.child.before

    def messages(self):
        self.ask("/save conversation.json", "messages saved")
        self.child.expect(PROMPT)
        return json.loads(self.file.read_text())["messages"]

    def users(self):
        return [m["content"] for m in self.messages() if m["role"] == "user"]

    def leave(self, key):
        self.child.send(key)
        self.child.expect(pexpect.EOF)
        self.child.close()
        return self.child.exitstatus


def test_typing_arrows_and_history(tmp_path):
    with Terminal(tmp_path, "-n", "4") as chat:
        # Without moving left over two columns, an insertion and a deletion this would be another text.
        chat.ask("Grüße aus Zrich" + LEFT * 4 + "ü" + LEFT * 100 + CTRL_A + "x\b")
        assert chat.users() == ["Grüße aus Zürich"]
        chat.ask(UP * 2 + "!")  # the last line was /save
        assert chat.users() == ["Grüße aus Zürich", "Grüße aus Zürich!"]
        assert chat.leave(CTRL_D) == 0


def test_the_conversation_goes_on_and_reset_forgets(tmp_path):
    with Terminal(tmp_path, "-n", "24", "--system", "You are a helpful parrot.") as chat:
        chat.ask("My name is Ada.")
        chat.ask("What is my name?")
        messages = chat.messages()
        assert [m["role"] for m in messages] == ["system", "user", "assistant", "user", "assistant"]
        said = " ".join(chat.ask("/stats").split())
        reused = re.search(r"conversation \d+ of 8192 tokens .* last prompt \d+ tokens, (\d+) of them reused", said)
        assert int(reused[1]) >= 32  # a block of the cache at least: the first turn
        chat.ask("/reset")
        assert chat.messages() == [{"role": "system", "content": "You are a helpful parrot."}]
        chat.ask("/system")
        assert chat.messages() == []
        chat.ask("/system Be brief.")
        assert chat.messages() == [{"role": "system", "content": "Be brief."}]
        assert chat.child.send("/exit\r") and chat.leave("") == 0


def test_an_answer_is_that_of_the_same_conversation_in_a_pipe(tmp_path):
    lines = ["Name a colour.", "And another one?"]
    with Terminal(tmp_path, "-n", "16") as chat:
        for line in lines:
            chat.ask(line)
        answers = [m["content"] for m in chat.messages() if m["role"] == "assistant"]
    piped = subprocess.run([BIN, "run", "-m", MODEL, "--temp", "0", "-n", "16", "--json"], input="\n".join(lines),
                           capture_output=True, text=True, timeout=120, check=True)
    assert [json.loads(line)["text"] for line in piped.stdout.splitlines()] == answers


def test_a_paste_of_several_lines_is_one_message(tmp_path):
    text = "first\n\tsecond [x]\n" + "\n".join(f"{i}: " + "y" * 100 for i in range(40))
    with Terminal(tmp_path, "-n", "2") as chat:
        chat.child.send("> \033[200~" + text.replace("\n", "\r") + "\033[201~ end\r")
        chat.child.expect("Cut after 2 tokens")
        chat.child.expect(PROMPT)
        assert chat.users() == ["> " + text + " end"]


def test_a_backslash_continues_a_message(tmp_path):
    with Terminal(tmp_path, "-n", "2") as chat:
        chat.child.send("first\\\r")
        chat.child.expect("… ")
        chat.ask("second", "Cut after")
        assert chat.users() == ["first\nsecond"]


def test_ctrl_c_stops_an_answer_and_not_the_program(tmp_path):
    with Terminal(tmp_path, "-n", "8000", "--ignore-eos") as chat:
        chat.child.send("Count to a thousand.\r")
        chat.child.expect(EDITING_ENDS)
        chat.child.expect(r"[A-Za-z]{3}")
        chat.child.sendintr()
        chat.child.expect(r"Stopped\.")
        chat.child.expect(PROMPT)
        messages = chat.messages()
        assert len(messages) == 2 and 0 < len(messages[1]["content"]) < 20000


def test_ctrl_c_before_an_answer_begins_withdraws_the_message(tmp_path):
    with Terminal(tmp_path, "-n", "1") as chat:
        (tmp_path / "long.json").write_text(json.dumps({"messages": [
            {"role": "user", "content": "All work and no play. " * 1200}, {"role": "assistant", "content": "Yes."}]}))
        chat.ask("/load long.json", "2 messages loaded")
        chat.child.expect(PROMPT)
        chat.child.send("Why?\r")  # the prompt's 7,000 tokens take seconds
        chat.child.expect(EDITING_ENDS)
        chat.child.sendintr()
        chat.child.expect("Stopped before the answer began")
        chat.child.expect(PROMPT)
        assert len(chat.messages()) == 2


def test_ctrl_c_clears_a_line_and_leaves_when_pressed_twice(tmp_path):
    with Terminal(tmp_path, "-n", "2") as chat:
        chat.child.send("never sent")
        chat.child.expect("never sent")
        chat.child.sendintr()
        chat.child.expect(PROMPT)
        assert chat.users() == []
        chat.child.sendintr()
        chat.child.expect("once more")
        chat.child.expect(PROMPT)
        chat.child.sendintr()
        chat.child.expect(pexpect.EOF)
        chat.child.close()
        assert chat.child.exitstatus == 130


def test_save_and_load_are_a_round_trip(tmp_path):
    with Terminal(tmp_path, "-n", "8", "--system", "Brief.") as chat:
        chat.ask("Say \"hé\".")
        messages = chat.messages()
    with Terminal(tmp_path, "-n", "8") as chat:
        chat.ask("/load conversation.json", "3 messages loaded")
        chat.child.expect(PROMPT)
        assert chat.messages() == messages
        chat.ask("And now?")
        assert chat.messages()[:3] == messages


def test_a_file_that_cannot_be_written_loses_nothing(tmp_path):
    with Terminal(tmp_path, "-n", "4") as chat:
        chat.ask("Hello")
        messages = chat.messages()
        assert "cannot create" in chat.ask("/save absent/folder.json")
        assert chat.messages() == messages


def test_saving_replaces_saved_conversations_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    os.mkfifo(tmp_path / "pipe")
    with Terminal(tmp_path, "-n", "2", "--system", "Brief.") as chat:
        assert "stays as it is" in " ".join(chat.ask("/save notes.txt").split())
        assert "stays as it is" in " ".join(chat.ask("/save pipe").split())
        messages = chat.messages()
        assert chat.messages() == messages  # over the same file
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_an_empty_system_message_is_replaced_too(tmp_path):
    (tmp_path / "empty.json").write_text('{"messages": [{"role": "system", "content": ""}]}')
    with Terminal(tmp_path, "-n", "2") as chat:
        chat.ask("/load empty.json")
        chat.ask("/system Brief.")
        assert chat.messages() == [{"role": "system", "content": "Brief."}]


def test_a_pasted_command_takes_one_line(tmp_path):
    with Terminal(tmp_path, "-n", "2") as chat:
        chat.child.send("\033[200~/save a.json\rmore\033[201~\r")
        chat.child.expect("/save: takes one line")
        chat.child.expect(PROMPT)
        assert not any(path.name.startswith("a.json") for path in tmp_path.iterdir())


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_the_terminal_gets_its_mode_back(tmp_path, ending):
    with Terminal(tmp_path) as chat:
        raw = termios.tcgetattr(chat.child.child_fd)
        assert not raw[3] & termios.ICANON
        os.kill(chat.child.pid, ending)
        chat.child.expect(re.escape("\033[?2004l"))
        wait_until(lambda: termios.tcgetattr(chat.child.child_fd)[3] & termios.ICANON)
        chat.child.wait()
        assert chat.child.signalstatus == ending


def test_a_turn_without_memory_ends_and_the_chat_goes_on(tmp_path):
    with Terminal(tmp_path, "-n", "2") as chat:
        chat.ask("Hello")
        messages = chat.messages()
        (tmp_path / "large.json").write_text(json.dumps({"messages": [
            {"role": "user", "content": "x " * 30_000_000}, {"role": "assistant", "content": "y"}]}))
        used = int(re.search(r"VmSize:\s+(\d+)", pathlib.Path(f"/proc/{chat.child.pid}/status").read_text())[1]) << 10
        resource.prlimit(chat.child.pid, resource.RLIMIT_AS, (used + (30 << 20), used + (30 << 20)))
        assert "out of memory" in chat.ask("/load large.json")
        assert chat.messages() == messages


@pytest.mark.parametrize("content, part", [
    ("{", "bad.json: offset "),
    ('{"messages": [], "messages": []}', "bad.json: "),
    ("[]", "bad.json: not an object"),
    ("{}", "no field 'messages'"),
    ('{"messages": [], "more": 1}', "unknown field 'more'"),
    ('{"messages": {}}', "messages: not an array"),
    ('{"messages": [1]}', "messages[0]: not an object"),
    ('{"messages": [{"role": "user"}]}', "messages[0]: no field 'content'"),
    ('{"messages": [{"role": "user", "content": 7}]}', "messages[0].content: not a string"),
    ('{"messages": [{"role": "tool", "content": ""}]}', "messages[0].role: 'tool' cannot come first"),
    ('{"messages": [{"role": "user", "content": ""}]}', "messages[0].role: 'user' cannot come last"),
    ('{"messages": [{"role": "user", "content": ""}, {"role": "system", "content": ""}]}',
     "messages[1].role: 'system' cannot follow 'user'"),
])
def test_files_that_are_no_conversation_are_named_and_change_nothing(tmp_path, content, part):
    (tmp_path / "bad.json").write_text(content)
    with Terminal(tmp_path, "-n", "2", "--system", "Stays.") as chat:
        assert part in " ".join(chat.ask("/load bad.json").split())
        assert chat.messages() == [{"role": "system", "content": "Stays."}]


def test_a_conversation_beyond_the_context_is_said_and_not_lost(tmp_path):
    with Terminal(tmp_path, "-n", "4", "--context", "60") as chat:
        chat.ask("Hello")
        messages = chat.messages()
        said = " ".join(chat.ask("word " * 60).split())
        assert "the context holds 60" in said and "/reset" in said and "--context" in said
        assert chat.messages() == messages
        chat.ask("/reset")
        chat.ask("Hi")
        assert chat.users() == ["Hi"]


def test_colours_are_for_terminals_without_no_color(tmp_path):
    for no_color, colored in (("", True), ("1", False)):
        with Terminal(tmp_path, NO_COLOR=no_color) as chat:
            assert ("\033[2m" in chat.ask("/help")) == colored


def pipe(*options, **more):
    return subprocess.run([BIN, "run", "-m", MODEL, "--temp", "0", *options], capture_output=True, text=True,
                          timeout=120, **more)


def test_in_a_pipe_each_line_is_a_message_and_answers_are_all_of_stdout():
    done = pipe("-n", "8", input="One\n\n  \nTwo \\\nthree\n/reset\n")
    answers = [json.loads(line) for line in pipe("-n", "8", "--json", input="One\nTwo \\\nthree\n/reset").stdout.splitlines()]
    assert done.returncode == 0 and len(answers) == 3
    assert done.stdout == "".join(a["text"] + "\n" for a in answers)
    # A later prompt holds what was said before: a command in a pipe is a message like others.
    assert answers[0]["prompt_tokens"] < answers[1]["prompt_tokens"] < answers[2]["prompt_tokens"]


def test_a_later_turn_has_the_prompt_that_jinja_makes_of_the_conversation():
    lines = ["My name is Ada.", "What is my name?", "Thanks."]
    options = ["-n", "12", "--json"]
    chat = [json.loads(line) for line in pipe(*options, "--system", "Brief.", input="\n".join(lines)).stdout.splitlines()]
    messages = [{"role": "system", "content": "Brief."}]
    for line, answer in zip(lines, chat, strict=True):
        messages.append({"role": "user", "content": line})
        field = gguf.GGUFReader(MODEL).get_field("tokenizer.chat_template")
        prompt = jinja2.Template(field.contents(), trim_blocks=True, lstrip_blocks=True).render(
            messages=messages, add_generation_prompt=True)
        ids = subprocess.run([BIN, "tokenize", "-m", MODEL, "--ids"], input=prompt, capture_output=True, text=True,
                             timeout=60, check=True).stdout
        alone = json.loads(pipe(*options, "--prompt-ids", "-p", ids).stdout)
        assert (alone["prompt_tokens"], alone["tokens"]) == (answer["prompt_tokens"], answer["tokens"])
        messages.append({"role": "assistant", "content": answer["text"]})


def test_a_dash_is_all_of_standard_input():
    whole = pipe("-n", "4", "--json", "-p", "-", input="One\nTwo\n")
    given = pipe("-n", "4", "--json", "-p", "One\nTwo")
    assert json.loads(whole.stdout)["prompt_tokens"] == json.loads(given.stdout)["prompt_tokens"]


def test_a_pipe_without_a_message_is_an_error():
    done = pipe(input="\n \n")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == "adze: standard input: no message\n"


def test_ctrl_c_under_json_prints_what_there_is():
    process = subprocess.Popen([BIN, "run", "-m", MODEL, "-p", "Count.", "-n", "8000", "--ignore-eos", "--json"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=3)  # loaded by then, and far from 8000 tokens
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    answer = json.loads(out)
    assert process.returncode == 130 and err == ""
    assert answer["finish_reason"] == "cancelled" and answer["generated_tokens"] == len(answer["tokens"]) > 0


def test_a_full_disk_is_not_the_models_fault():
    with open("/dev/full", "w") as full:
        done = subprocess.run([BIN, "run", "-m", MODEL, "-p", "Hi", "-n", "4"], stdout=full, stderr=subprocess.PIPE,
                              text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == "adze: standard output: write failed: No space left on device\n"


def test_answers_cannot_drive_the_terminal():
    """One token is ESC; biased, it is all that the model says."""
    tokenized = subprocess.run([BIN, "tokenize", "-m", MODEL], input=b"\033", capture_output=True, check=True)
    token = int(tokenized.stdout.split()[0])
    command = ["run", "-m", MODEL, "-p", "Hi", "-n", "3", "--temp", "0", "--logit-bias", f"{token}=100"]
    child = pexpect.spawn(BIN, command, timeout=60, env={**os.environ, "NO_COLOR": "1", "TERM": "dumb"})
    child.expect("first token")
    assert "\ufffd" * 3 in child.before.decode()
    piped = subprocess.run([BIN, *command], capture_output=True, check=True)
    assert piped.stdout == b"\033" * 3 + b"\n"
