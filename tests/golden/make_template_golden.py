#!/usr/bin/env python3
"""Writes chat_template.json: what Python's Jinja makes of chat templates and of small snippets.

usage: make_template_golden.py SMOLLM2.gguf

The environment is set up as Hugging Face transformers sets it up: ImmutableSandboxedEnvironment with trim_blocks,
lstrip_blocks and loop controls, `tojson` over json.dumps, raise_exception, and the generation tag. The templates in
chat_templates/ are written for this test in the manner of well-known models.
Needs the Python packages jinja2 (3.1) and gguf.
"""

import json
import sys
from pathlib import Path

import gguf
import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

import template_snippets

HERE = Path(__file__).parent


class Generation(Extension):
    """The body of {% generation %} as a call block, which is a scope of its own."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    return env


def run(source, variables):
    """The text, or the kind of error: syntax (with its line) or runtime."""
    try:
        template = environment().from_string(source)
    except jinja2.exceptions.TemplateSyntaxError as error:
        return {"error": "syntax", "line": error.lineno}
    except SyntaxError:  # Python's own, of the compiled template: it has no line of the source
        return {"error": "runtime"}
    try:
        return {"output": template.render(**variables)}
    except Exception:
        return {"error": "runtime"}


def smollm2_template(path):
    field = gguf.GGUFReader(path).fields["tokenizer.chat_template"]
    return bytes(field.parts[field.data[0]]).decode()


def main():
    templates = {path.stem: path.read_text() for path in sorted((HERE / "chat_templates").glob("*.jinja"))}
    templates["smollm2"] = smollm2_template(sys.argv[1])
    conversations = []
    for name, source in templates.items():
        for conversation in template_snippets.CONVERSATIONS:
            for generate in (False, True):
                variables = {
                    "messages": conversation["messages"],
                    "tools": conversation.get("tools"),
                    "documents": None,
                    "add_generation_prompt": generate,
                    "bos_token": "<s>",
                    "eos_token": "</s>",
                    **conversation.get("extra", {}),
                }
                conversations.append({"template": name, "conversation": conversation["name"],
                                      "generate": generate, **run(source, variables)})
    snippets = [{"source": source, **run(source, template_snippets.VARIABLES)}
                for source in template_snippets.SNIPPETS]
    data = {
        "templates": templates,
        "conversations": {c["name"]: c for c in template_snippets.CONVERSATIONS},
        "variables": template_snippets.VARIABLES,
        "renders": conversations,
        "snippets": snippets,
    }
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    (HERE / "chat_template.json").write_text(text + "\n")
    print(f"chat_template.json: {len(text)} bytes, {len(conversations)} renders, {len(snippets)} snippets")
    for row in conversations + snippets:
        if "error" in row:
            print({k: v for k, v in row.items() if k != "output"})


if __name__ == "__main__":
    main()
