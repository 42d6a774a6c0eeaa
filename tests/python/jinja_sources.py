"""Published chat templates inside a source distribution of llama-cpp-python, and conversations to render with them."""

import ast
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "golden"))
import template_snippets  # noqa: E402
from template_snippets import CALL, CLOCK, CONVERSATIONS, TWO_CALLS, WEATHER, assistant, system, user  # noqa: E402

ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f", "v": "\v", "a": "\a"}
C_LITERAL = re.compile(r'R"(\w*)\((?P<raw>.*?)\)\1"|"(?P<plain>(?:\\.|[^"\\\n])*)"', re.S)


def is_template(text):
    return "{%" in text or "{{" in text


def c_literals(source):
    """The string literals of C++; those with only white space or comments between them are one."""
    source = re.sub(r"^\s*//.*$", "", source, flags=re.M)
    parts, end = [], None
    for match in C_LITERAL.finditer(source):
        text = match["raw"]
        if text is None:
            text = re.sub(r"\\(.)", lambda escape: ESCAPES.get(escape[1], escape[1]), match["plain"], flags=re.S)
        if end is not None and re.fullmatch(r"(?:\s|/\*.*?\*/)*", source[end:match.start()]):
            parts[-1] += text
        else:
            parts.append(text)
        end = match.end()
    return parts


def published(root):
    """[(name, source)] of all templates under `root`, an unpacked llama_cpp_python source distribution."""
    root = Path(root)
    found = {}
    for path in sorted((root / "vendor/llama.cpp/models/templates").glob("*.jinja")):
        found[path.name] = path.read_text()
    for path in sorted([*root.glob("llama_cpp/*.py"), *root.glob("tests/*.py")]):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and is_template(node.value):
                found[f"{path.name}:{node.lineno}"] = node.value
    for path in sorted((root / "vendor/llama.cpp/tests").glob("*.cpp")):
        for number, text in enumerate(filter(is_template, c_literals(path.read_text()))):
            found[f"{path.name}#{number}"] = text
    unique = {}
    for name, source in found.items():
        unique.setdefault(source, name)
    return [(name, source) for source, name in unique.items()]


def text_part(text):
    return {"type": "text", "text": text}


def string_arguments(message):
    calls = [{**call, "function": {**call["function"], "arguments": '{"city": "K\\u00f6ln", "days": 2}'}}
             for call in message["tool_calls"]]
    return {**message, "tool_calls": calls}


def tool(text, name="get_weather", call="call00001"):
    return {"role": "tool", "name": name, "tool_call_id": call, "content": text}


NESTED = {"type": "function", "function": {
    "name": "book", "description": None, "strict": True, "parameters": {
        "type": "object", "$defs": {"p": {"type": "null"}}, "properties": {
            "who": {"type": ["string", "null"], "description": "a\nb", "minLength": 1, "nullable": True},
            "legs": {"type": "array", "items": {"type": "object", "properties": {"to": {"type": "string"}, "km": {"type": "number"}},
                                                "required": ["to"]}, "minItems": 1, "default": []},
            "any": {"anyOf": [{"type": "integer"}, {"type": "string", "format": "date"}]},
            "one": {"oneOf": [{"type": "boolean", "default": True}, {"enum": [1, "a", None, 2.5]}]},
            "map": {"type": "object", "additionalProperties": {"type": "integer", "maximum": 9}},
            "free": {}, "é": {"type": "object", "additionalProperties": True}},
        "required": ["who", "legs"], "additionalProperties": False},
    "return": {"type": "string", "description": "what came of it"}, "response": {"type": "object", "properties": {}}}}
NESTED_CALL = {"role": "assistant", "content": "Booking.", "tool_calls": [
    {"id": "x", "type": "function", "function": {"name": "book", "arguments": {
        "who": None, "legs": [{"to": "A & <b>", "km": 1.5}, {}], "any": 7, "one": True, "map": {"a": 1, "b": [1, [2]]},
        "free": "x\ny", "é": 1e21}}}]}
BARE_TOOL = {"name": "bare", "description": "No function around it", "parameters": {"type": "object", "properties": {}}}
DOCUMENTS = [{"title": "One", "text": "First text", "doc_id": 1}, {"title": "Two", "contents": "Second\ntext"}]

MORE = [
    {"name": "system_twice", "messages": [system("A"), system("B"), user("c")]},
    {"name": "developer", "messages": [{"role": "developer", "content": "Be brief"}, user("c"), assistant("d"), user("e")]},
    {"name": "no_content", "messages": [user("a"), {"role": "assistant", "content": None}, user("b")]},
    {"name": "missing_content", "messages": [user("a"), {"role": "assistant"}, {"role": "user"}]},
    {"name": "missing_role", "messages": [{"content": "a"}]},
    {"name": "null_user", "messages": [system(None), user(None)]},
    {"name": "number_content", "messages": [user(5), assistant(True)]},
    {"name": "text_parts", "messages": [
        {"role": "system", "content": [text_part(" sys ")]}, {"role": "user", "content": [text_part("a\n"), text_part("b")]},
        {"role": "assistant", "content": [text_part(" c ")]}, {"role": "user", "content": []}]},
    {"name": "media_parts", "messages": [{"role": "user", "content": [
        {"type": "image", "image": "u"}, {"type": "image_url", "image_url": {"url": "u"}}, {"type": "video", "video": "v"},
        {"type": "audio"}, {"type": "input_audio", "input_audio": {}}, text_part("?"), "loose", {"type": "odd"}]}]},
    {"name": "string_parts", "messages": [{"role": "user", "content": ["a", "b"]}]},
    {"name": "white", "messages": [system(" \n\t "), user("\u3000\u00a0x\u2028y\r\nz\x85"), assistant("\n\n  a\n b \n")]},
    {"name": "turkish", "messages": [user("İIıi ŉ ß ﬁ Σς ΑΣ ǆ 𐐀 \x00 \x1f \u200b")]},
    {"name": "quotes", "messages": [user("it's \"q\" \\n {{ x }} {% y %} </think> <think> <|im_end|>")]},
    {"name": "thought_turns", "messages": [
        user("a"), {"role": "assistant", "content": "b", "reasoning_content": "ra", "thinking": "ta", "reasoning": "qa"}, user("c"),
        assistant("<think>x</think>"), user("d"), {"role": "assistant", "content": "", "reasoning_content": ""}]},
    {"name": "thought_call", "messages": [
        user("a"), {**CALL, "reasoning_content": "hm", "thinking": "hm"}, tool("r"), assistant("<think>\ny\n</think>\n\nz")],
     "tools": [WEATHER]},
    {"name": "thought_parts", "messages": [
        user("a"), {"role": "assistant", "content": [{"type": "thinking", "thinking": "t"}, text_part("u")]}, user("b")]},
    {"name": "string_arguments", "messages": [user("Rain?"), string_arguments(CALL), tool("{}"), assistant("Yes")],
     "tools": [WEATHER]},
    {"name": "string_two_calls", "messages": [
        system("s"), user("Rain?"), string_arguments(TWO_CALLS), tool("1"), tool("2", "clock", "call00002"), user("x")],
     "tools": [WEATHER, CLOCK]},
    {"name": "nested", "messages": [system("s"), user("Go"), NESTED_CALL, tool("ok", "book", "x"), user("Thanks")],
     "tools": [NESTED, CLOCK, WEATHER]},
    {"name": "bare_tool", "messages": [user("Go")], "tools": [BARE_TOOL]},
    {"name": "no_tools", "messages": [system("s"), user("Go")], "tools": []},
    {"name": "call_at_end", "messages": [user("Rain?"), CALL], "tools": [WEATHER]},
    {"name": "call_without_tools", "messages": [user("Rain?"), CALL, tool("y")]},
    {"name": "tool_first", "messages": [tool("y"), user("a")]},
    {"name": "tool_parts", "messages": [user("Rain?"), CALL, {**tool(""), "content": [text_part("r1"), text_part("r2")]}],
     "tools": [WEATHER]},
    {"name": "tool_dict", "messages": [user("Rain?"), CALL, {**tool(""), "content": {"a": [1, None], "b": "ü"}}], "tools": [WEATHER]},
    {"name": "tool_null", "messages": [user("Rain?"), CALL, {**tool(""), "content": None}], "tools": [WEATHER]},
    {"name": "no_arguments", "messages": [user("Rain?"), {"role": "assistant", "tool_calls": [{"function": {"name": "clock"}}]}],
     "tools": [CLOCK]},
    {"name": "empty_calls", "messages": [user("a"), {"role": "assistant", "content": "b", "tool_calls": []}, user("c")]},
    {"name": "null_calls", "messages": [user("a"), {"role": "assistant", "content": "b", "tool_calls": None}, user("c")]},
    {"name": "odd_role", "messages": [{"role": "narrator", "content": "Once"}, user("a")]},
    {"name": "ipython", "messages": [user("a"), {"role": "ipython", "content": {"output": 1}}]},
    {"name": "message_tools", "messages": [{**user("a"), "tools": [WEATHER]}, {"role": "system", "content": "b", "tools": "[]"}]},
    {"name": "documents", "messages": [user("a")], "extra": {"documents": DOCUMENTS}},
    {"name": "citations", "messages": [system("s"), user("a"), assistant("b"), user("c")], "tools": [WEATHER], "extra": {
        "documents": DOCUMENTS, "citations": True, "controls": {"length": "short", "originality": "high"}, "available_tools": [CLOCK]}},
    {"name": "thinking_on", "messages": [system("s"), user("a"), assistant("<think>b</think>c"), user("d")], "extra": {
        "enable_thinking": True, "thinking": True, "reasoning_effort": "high", "thinking_mode": "thinking", "clear_thinking": False,
        "preserve_thinking": True, "add_vision_id": True, "thinking_budget": 512, "reasoning_mode": "think"}},
    {"name": "thinking_off", "messages": [user("a"), assistant("<think>b</think>c"), user("d")], "tools": [WEATHER], "extra": {
        "enable_thinking": False, "thinking": False, "reasoning_effort": "low", "thinking_mode": "chat", "clear_thinking": True,
        "thinking_budget": 0, "date_string": "1 May 2025", "tools_in_user_message": False, "model_identity": "Me"}},
    {"name": "xml_tools", "messages": [system("s"), user("a")], "tools": [WEATHER], "extra": {
        "xml_tools": [WEATHER], "python_tools": [CLOCK], "builtin_tools": ["browser", "python", "code_interpreter"],
        "response_format": {"type": "json_object"}, "custom_tools": [CLOCK], "functions": [CLOCK], "datetime": "now"}},
    {"name": "long", "messages": [m for i in range(12) for m in (user(f"q{i}"), assistant(f"a{i}"))] + [user("end")]},
]
ALL = [*CONVERSATIONS, *MORE]
# What small templates of tests read.
VARIABLES = template_snippets.VARIABLES


def variables(conversation, generate):
    """As transformers' apply_chat_template() passes them."""
    return {"messages": conversation["messages"], "tools": conversation.get("tools"), "documents": None,
            "add_generation_prompt": generate, "bos_token": "<s>", "eos_token": "</s>", **conversation.get("extra", {})}
