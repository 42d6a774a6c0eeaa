"""Python's Jinja, set up as Hugging Face transformers sets it up for chat templates.

ImmutableSandboxedEnvironment with trim_blocks, lstrip_blocks and loop controls, `tojson` over json.dumps,
raise_exception, strftime_now, and the generation tag. Needs the Python package jinja2 (3.1).
"""

import copy
import datetime
import functools
import json

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


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


def strftime_now(format):
    return datetime.datetime.now().strftime(format)


def environment(optimized=True):
    """Without the optimizer Jinja folds no constants, and so swallows no errors of them."""
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols],
                                        optimized=optimized)
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = strftime_now
    return env


ENVIRONMENTS = {optimized: environment(optimized) for optimized in (True, False)}


@functools.lru_cache(maxsize=1000)
def compiled(source, optimized):
    """The template, or the row that run() gives for one that is none."""
    try:
        return ENVIRONMENTS[optimized].from_string(source)
    except jinja2.exceptions.TemplateSyntaxError as error:
        return {"error": "syntax", "line": error.lineno, "message": error.message, "type": type(error).__name__}
    except SyntaxError as error:  # Python's own, of the compiled template: it has no line of the source
        return {"error": "runtime", "message": str(error), "type": "SyntaxError"}


def run(source, variables, optimized=True):
    """{"output": text}, or the kind of error ("syntax", with its line, or "runtime"), its message and Python's type."""
    template = compiled(source, optimized)
    if isinstance(template, dict):
        return template
    try:
        # A copy: Jinja's indent changes a list it is given.
        return {"output": template.render(**copy.deepcopy(variables))}
    except Exception as error:
        return {"error": "runtime", "message": str(error), "type": type(error).__name__}
