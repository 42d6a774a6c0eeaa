#!/usr/bin/env python3
"""Writes chat_template.json: what Python's Jinja makes of chat templates and of small snippets.

usage: make_template_golden.py SMOLLM2.gguf

The environment is jinja_reference's. The templates in chat_templates/ are written for this test in the manner of
well-known models. Needs the Python packages jinja2 (3.1) and gguf.
"""

import json
import sys
from pathlib import Path

import gguf

import jinja_reference
import template_snippets

HERE = Path(__file__).parent


def run(source, variables):
    row = jinja_reference.run(source, variables)
    return {key: row[key] for key in ("error", "line", "output") if key in row}


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
