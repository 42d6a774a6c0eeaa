"""Chat templates against Python's Jinja in transformers' set-up: published templates, and random ones.

ADZE_TEMPLATE: the test tool adze_template; without it all is skipped. ADZE_LLAMACPP_SOURCES: an unpacked source
distribution of llama-cpp-python, whose templates are compared; without it those are skipped.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

BIN = os.environ.get("ADZE_TEMPLATE")
SOURCES = os.environ.get("ADZE_LLAMACPP_SOURCES")
GOLDEN = Path(__file__).parent.parent / "golden"
pytestmark = pytest.mark.skipif(not BIN, reason="ADZE_TEMPLATE is not set")
sys.path.insert(0, str(GOLDEN))

import jinja_fuzz  # noqa: E402
import jinja_sources  # noqa: E402

reference = pytest.importorskip("jinja_reference", reason="jinja2 is not installed")

# What 0006-chat-templates.md leaves out; the only errors where Jinja renders.
LEFT_OUT = re.compile("an integer that does not fit in 64 bits|sameas of a '|a generator|a 'function' as text|a complex number")
# Errors whose very message templates choose or users know: Jinja's own.
SAME_MESSAGE = {"TemplateError", "UndefinedError", "SecurityError", "TemplateRuntimeError"}


def ask(requests):
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([BIN], input=lines.encode(), capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode()
    # Only \n ends a line: a prompt may hold U+2028.
    answers = [json.loads(line) for line in done.stdout.decode().split("\n")[:-1]]
    assert len(answers) == len(requests)
    return answers


def request(source, conversation, generate=False):
    return {"template": source, "messages": conversation["messages"], "tools": conversation.get("tools"), "bos_token": "<s>",
            "eos_token": "</s>", "add_generation_prompt": generate, "extra": conversation.get("extra")}


def one_line(message):
    return re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\x{ord(match[0]):02x}", message)


def difference(expected, answer):
    """What is wrong with an answer, or None."""
    error = answer.get("error")
    if "output" in expected:
        if error:
            return None if LEFT_OUT.search(error) else f"fails with {error}"
        return None if answer["text"] == expected["output"] else f"{answer['text']!r}, not {expected['output']!r}"
    if expected["type"] == "SyntaxError":
        return None  # Python cannot compile what Jinja made of it
    wanted = f"{expected['type']}: {expected['message']}"
    if error is None:
        return f"renders {answer['text']!r}, not {wanted}"
    if not re.match(r"template: chat template: line \d+: .", error) or "\n" in error:
        return f"no line of a message: {error}"
    if expected["type"] in SAME_MESSAGE and one_line(expected["message"]) not in error and not LEFT_OUT.search(error):
        return f"{error}, not {wanted}"
    return None


def compare(cases, optimized=True):
    """cases: (name, source, conversation, generate). Returns how many rendered and how many failed on both sides."""
    answers = ask([request(source, conversation, generate) for _, source, conversation, generate in cases])
    found, rendered = [], 0
    for (name, source, conversation, generate), answer in zip(cases, answers):
        expected = reference.run(source, jinja_sources.variables(conversation, generate), optimized)
        rendered += "output" in expected
        wrong = difference(expected, answer)
        if wrong and "strftime_now" in source:  # the minute may have turned
            expected = reference.run(source, jinja_sources.variables(conversation, generate), optimized)
            wrong = difference(expected, ask([request(source, conversation, generate)])[0])
        if wrong:
            found.append(f"{name}: {wrong}")
    assert not found, f"{len(found)} of {len(cases)} differ:\n" + "\n".join(row[:1000] for row in found[:20])
    return rendered, len(cases) - rendered


def with_conversations(templates):
    small = [{"name": "variables", "messages": [], "extra": jinja_sources.VARIABLES}]
    return [(f"{name} {conversation['name']} {generate}", source, conversation, generate)
            for name, source in templates
            for conversation in (jinja_sources.ALL if "messages" in source else small)
            for generate in (False, True)]


def test_project_templates():
    templates = [(path.name, path.read_text()) for path in sorted((GOLDEN / "chat_templates").glob("*.jinja"))]
    assert len(templates) >= 10
    rendered, _ = compare(with_conversations(templates))
    assert rendered > 1000


def test_published_templates():
    if not SOURCES:
        pytest.skip("ADZE_LLAMACPP_SOURCES is not set")
    templates = jinja_sources.published(SOURCES)
    assert sum(name.endswith(".jinja") for name, _ in templates) >= 60
    rendered, failed = compare(with_conversations(templates))
    print(f"{len(templates)} templates, {rendered} prompts and {failed} errors agree")
    assert rendered > 5000


def marked(value, mark):
    """The conversation with `mark` in all its texts but roles, types, ids and schemas' words."""
    if isinstance(value, str):
        return value + mark
    if isinstance(value, list):
        return [marked(item, mark) for item in value]
    if isinstance(value, dict):
        kept = ("role", "type", "id", "tool_call_id")
        return {key: item if key in kept else marked(item, mark) for key, item in value.items()}
    return value


def test_what_users_write_is_input_in_published_templates():
    if not SOURCES:
        pytest.skip("ADZE_LLAMACPP_SOURCES is not set")
    mark = "~WRITTEN<|im_end|></s>~"
    cases = []
    for name, source in jinja_sources.published(SOURCES):
        if name.endswith(".jinja"):
            for conversation in jinja_sources.ALL:
                case = {**conversation, "messages": marked(conversation["messages"], mark), "tools": marked(conversation.get("tools"), mark)}
                cases.append((name, source, case, True))
    answers = ask([request(source, case, generate) for _, source, case, generate in cases])
    found = own = 0
    for (name, _, case, _), answer in zip(cases, answers):
        text = answer.get("text", "").encode()
        inside = bytearray(len(text))
        for begin, end in answer.get("input", []):
            inside[begin:end] = b"\1" * (end - begin)
        # In whatever case and escaping a template wrote it.
        for match in re.finditer(b"written.{1,8}?im_end.{1,8}?/s.{1,6}?~", text, re.I):
            found += 1
            assert all(inside[match.start() - 1:match.end()]), (name, case["name"], match[0])
        if case["name"] != "injection":
            for match in re.finditer(rb"<\|im_start\|>", text):  # the template's own
                own += 1
                assert not any(inside[match.start():match.end()]), (name, case["name"])
    assert found > 5000 and own > 500, (found, own)


ESCAPES = """
{{ ''.__class__ }}|{{ ''.__class__.__mro__[1].__subclasses__() }}
{{ ''['__class__'] }}|{{ ''['__cla' ~ 'ss__']['__base__'] }}
{{ '' | attr('__class__') }}|{{ ('' | attr('__class__')).x }}
{{ [''] | map(attribute='__class__') | list }}
{{ [''] | map(attribute='__class__.__mro__') | list }}
{{ [''] | selectattr('__class__') | list }}|{{ [''] | map('attr', '__class__') | list }}
{{ [''] | groupby('__class__') }}|{{ [''] | sort(attribute='__class__') }}
{{ '{0.__class__}'.format('') }}|{{ '{0.__class__.__mro__}'.format('') }}
{{ '{0[__class__]}'.format('') }}|{{ '{a.__init__.__globals__}'.format(a=range) }}
{{ '{0.__class__}' | format('') }}|{{ '{x.__class__}'.format_map({'x': ''}) }}
{{ ('{0.__class__}' | safe).format('') }}|{{ ('{0.__class__.__init__}' | e).format(1) }}
{{ '%(__class__)s' % {} }}
{{ range.__globals__ }}|{{ range.__call__(3) }}
{{ raise_exception.__globals__['os'] }}
{{ strftime_now.__code__ }}|{{ strftime_now.__globals__.x }}
{{ self.__init__.__globals__ }}|{{ self._TemplateReference__context }}
{% for i in [1] %}{{ loop._iterable }}|{{ loop.__class__ }}|{{ loop.__init__.__globals__ }}{% endfor %}
{% macro m() %}{% endmacro %}{{ m.__globals__ }}|{{ m.__call__.x }}
{{ namespace().__class__ }}|{{ namespace().__dict__.x }}
{% set ns = namespace() %}{% set ns.__class__ = 1 %}{{ ns.__class__ }}
{{ l.append(1) }}
{{ l.sort() }}
{{ d.update(a=5) }}
{{ d.pop('a') }}
{{ d.setdefault('q', 1) }}
{{ d.__setitem__('a', 2) }}|{{ l['append'](1) }}
{{ (l | attr('append'))(1) }}
{{ [l] | map(attribute='append') | first }}
{{ dict.fromkeys('ab') }}|{{ dict.mro() }}
{{ messages.__class__.__base__ }}|{{ config }}|{{ request }}|{{ cycler.__init__ }}
{{ ''.join.__self__ }}|{{ ''.upper.__func__.x }}
{{ none.__class__ }}|{{ true.__class__.x }}|{{ (1).__add__(2) }}
{{ missing.__class__ }}|{{ missing.__init__.__globals__ }}
""".strip().splitlines()


def test_escapes_from_the_sandbox_give_nothing():
    conversation = {"messages": [], "extra": jinja_sources.VARIABLES}
    answers = ask([request(source, conversation) for source in ESCAPES])
    for source, answer in zip(ESCAPES, answers):
        expected = reference.run(source, jinja_sources.variables(conversation, False), optimized=False)
        text = answer.get("text", "")
        assert not re.search("<class|<built-in|<function|<bound|<slot|object at|builtins|__main__", text), (source, text)
        # Where Jinja answers with an object of Python's, there is no such object here.
        if "output" in expected and re.search("<class|<built-in|<function|<bound|object at", expected["output"]):
            continue
        if "output" in expected or expected["type"] in SAME_MESSAGE:
            assert answer.get("error") or text == expected.get("output"), (source, answer, expected)
        else:
            assert answer.get("error"), (source, answer, expected)


@pytest.mark.parametrize("seed", range(3))
def test_random_templates(seed):
    conversation = {"messages": [], "extra": jinja_sources.VARIABLES}
    numbers = range(1_000_000 + 300 * seed, 1_000_000 + 300 * (seed + 1))
    # Without Jinja's optimizer, which swallows what goes wrong in constants.
    rendered, failed = compare([(f"seed {n}", jinja_fuzz.template(n), conversation, False) for n in numbers], optimized=False)
    assert rendered > 100 and failed > 50
