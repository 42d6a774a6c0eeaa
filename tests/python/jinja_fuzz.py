"""Random templates over what chat templates use, for a comparison of two implementations.

Expressions are drawn by type, so that most of them mean something; a few are not, and both sides must then fail.
"""

import random

TEXT = ["Hello, World", "", " \t two  words\\n ", "Straße Καλημέρας 日本 😀", "a,b,,c", "<a href=\\\"x\\\">'&'</a>", "aXbXc", "x", "123", " -7 ",
        "3.9e2", "ab\\ncd\\r\\n\\nef", "they're x-y 3RD", "{} {0}", "%s", "ǆ İ ﬁ ΑΣ", "\\u00e9\\x41", "</think>", "0x1F", "1_000", "a-b c"]
INTS = ["0", "1", "-1", "2", "3", "7", "-5", "10", "100", "a", "b", "l|length", "s|length"]
FLOATS = ["0.0", "1.5", "-2.25", "1e16", "1e-5", "x", "0.1", "3.0", "123456.789", "1e22", "2.5"]
STRINGS = ["s", "e", "u", "pad", "html", "lines", "users[0].name"]
LISTS = ["l", "w", "m", "le", "users", "floats", "[1, 2, 3]", "['b', 'a']", "(1, 'x')", "range(5)", "range(9, 0, -2)", "[]", "['a', 'B', 'c']"]
DICTS = ["d", "de", "users[1]", "{'k': 1, 'j': [2]}", "{1: 'a', 'z': none}", "m[6]"]
OTHER = ["n", "t", "f", "missing", "d.zz", "none", "l[99]", "true"]
CONVERSIONS = ["%s", "%d", "%5s|", "%-5s|", "%05d", "%.2f", "%x", "%r", "%+d", "%e", "%%", "%g", "%5.1f|", "%c", "%#x", "%i", "%.3d", "% d"]
SPECS = ["", ":5", ":<5", ":^7", ":>6", ":05", ":.2f", ":+", ":,", ":x", ":#b", ":e", ":.3", ":g", ":%", "!r", "!s:>8", ":*^9", ":_", ":08.3f", ":d",
         ":010,", ":= 8"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.depth = 0
        self.deepest = 1 + seed % 4
        self.names = []

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, probability):
        return self.random.random() < probability

    def literal(self):
        return f"'{self.random.choice(TEXT)}'".replace("'", '"') if self.chance(0.3) else '"' + self.random.choice(TEXT) + '"'

    def of(self, kind):
        self.depth += 1
        try:
            if self.depth > self.deepest or self.chance(0.15):
                return self.leaf(kind)
            if self.chance(0.015):
                kind = self.pick("int", "float", "str", "list", "dict", "bool", "any")
            return getattr(self, "make_" + kind)()
        finally:
            self.depth -= 1

    def leaf(self, kind):
        if self.names and self.chance(0.2):
            return self.random.choice(self.names)
        choices = {"int": INTS, "float": FLOATS, "str": STRINGS, "list": LISTS, "dict": DICTS, "bool": ["t", "f", "true", "n"],
                   "any": OTHER}[kind]
        if kind == "str" and self.chance(0.5):
            return self.literal()
        if kind == "any" and self.chance(0.7):
            return self.leaf(self.pick("int", "float", "str", "list", "dict", "bool"))
        return self.random.choice(choices)

    def any(self):
        return self.of(self.pick("int", "float", "str", "str", "list", "dict", "bool", "any"))

    def make_any(self):
        return self.pick(
            lambda: f"({self.any()} if {self.of('bool')} else {self.any()})",
            lambda: f"({self.any()} or {self.any()})",
            lambda: f"({self.any()} and {self.any()})",
            lambda: f"({self.any()} if {self.of('bool')})",
            lambda: f"{self.group(self.of('list'))}[{self.of('int')}]",
            lambda: f"{self.group(self.of('dict'))}.{self.pick('a', 'b', 'k', 'name', 'items', 'zz', 'get')}",
            lambda: f"{self.group(self.of('dict'))}[{self.of('str')}]",
            lambda: f"{self.group(self.of('dict'))}.get({self.of('str')}{self.pick('', ', ' + self.any())})",
            lambda: f"{self.group(self.any())}|default({self.any()}{self.pick('', ', true', ', boolean=true')})",
            lambda: f"{self.group(self.of('list'))}|{self.pick('first', 'last', 'min', 'max', 'sum')}",
            lambda: f"{self.group(self.of('list'))}|{self.pick('min', 'max', 'sum')}(attribute='age')",
            lambda: f"users|map(attribute={self.pick(repr('name'), repr('tags.0'), repr('ok'))}{self.pick('', ', default=' + self.any())})|list",
            lambda: f"dict({self.pick('a=1', 'd', '[(1, 2)]')}, k={self.any()})",
        )()

    def group(self, expression):
        return expression if expression.isidentifier() else f"({expression})"

    def make_int(self):
        return self.pick(
            lambda: f"({self.of('int')} {self.pick('+', '-', '*', '//', '%')} {self.of('int')})",
            lambda: f"-{self.group(self.of('int'))}",
            lambda: f"+{self.group(self.of('int'))}",
            lambda: f"{self.pick('2', '3', 'b')} ** {self.pick('0', '2', '5', '-1')}",
            lambda: f"{self.group(self.pick(self.of('str'), self.of('list'), self.of('dict')))}|{self.pick('length', 'count')}",
            lambda: f"{self.group(self.any())}|int{self.pick('', '', '(5)', '(default=-1)', '(0, 16)', '(base=2)')}",
            lambda: f"{self.group(self.of('int'))}|abs",
            lambda: f"{self.group(self.of('str'))}.{self.pick('find', 'count', 'rfind')}({self.of('str')}{self.pick('', '', ', 1', ', -3', ', 1, 4')})",
            lambda: f"{self.group(self.of('list'))}.{self.pick('index', 'count')}({self.any()})",
            lambda: f"{self.group(self.of('str'))}|wordcount",
        )()

    def make_float(self):
        return self.pick(
            lambda: f"({self.of('float')} {self.pick('+', '-', '*', '/', '//', '%')} {self.pick(self.of('float'), self.of('int'))})",
            lambda: f"({self.of('int')} / {self.of('int')})",
            lambda: f"-{self.group(self.of('float'))}",
            lambda: f"{self.group(self.any())}|float{self.pick('', '(1.5)', '(default=n)')}",
            lambda: f"{self.group(self.of('float'))}|round{self.pick('', '(1)', '(2)', '(0, ' + repr('ceil') + ')', '(method=' + repr('floor') + ')')}",
            lambda: f"{self.group(self.of('float'))}|abs",
        )()

    def make_bool(self):
        return self.pick(
            lambda: f"{self.any()} {self.pick('==', '!=')} {self.any()}",
            lambda: f"({self.of('int')} {self.pick('<', '<=', '>', '>=')} {self.pick(self.of('int'), self.of('float'))})",
            lambda: f"({self.of('int')} {self.pick('<', '<=', '==')} {self.of('int')} {self.pick('<', '>=', '!=')} {self.of('int')})",
            lambda: f"({self.of('str')} {self.pick('<', '>=', 'in', 'not in')} {self.of('str')})",
            lambda: f"({self.any()} {self.pick('in', 'not in')} {self.of('list')})",
            lambda: f"({self.of('str')} {self.pick('in', 'not in')} {self.of('dict')})",
            lambda: f"(not {self.any()})",
            lambda: f"({self.of('bool')} {self.pick('and', 'or')} {self.of('bool')})",
            lambda: f"({self.group(self.any())} is {self.pick('', 'not ')}"
                    + self.pick("defined", "undefined", "none", "string", "mapping", "iterable", "sequence", "number", "integer", "float", "boolean",
                                "true", "false", "lower", "upper", "escaped") + ")",
            lambda: f"({self.group(self.of('int'))} is {self.pick('', 'not ')}{self.pick('odd', 'even', 'divisibleby 3', 'eq(7)', 'gt 2', 'in [1, 2, 3]', 'ne(0)')})",
            lambda: f"{self.group(self.of('str'))}.{self.pick('startswith', 'endswith')}({self.pick(self.of('str'), '(' + self.of('str') + ', ' + self.of('str') + ')')})",
            lambda: f"{self.group(self.of('str'))}.{self.pick('isdigit', 'isalpha', 'isalnum', 'isspace', 'isdecimal')}()",
        )()

    def make_str(self):
        text = lambda: self.group(self.of("str"))
        return self.pick(
            lambda: f"({self.of('str')} + {self.of('str')})",
            lambda: f"({self.any()} ~ {self.any()} ~ {self.of('str')})",
            lambda: f"({self.of('str')} * {self.pick('0', '1', '2', '3', '-1', 't')})",
            lambda: f"{text()}[{self.slice()}]",
            lambda: f"{text()}[{self.of('int')}]",
            lambda: f"{text()}|{self.pick('upper', 'lower', 'title', 'capitalize', 'trim', 'string', 'safe', 'escape', 'e', 'forceescape', 'reverse')}",
            lambda: f"{self.group(self.any())}|{self.pick('upper', 'lower', 'title', 'capitalize', 'trim', 'string', 'safe', 'e')}",
            lambda: f"{text()}.{self.pick('upper', 'lower', 'title', 'capitalize', 'strip', 'lstrip', 'rstrip')}()",
            lambda: f"{text()}.{self.pick('strip', 'lstrip', 'rstrip')}({self.pick(self.of('str'), 'none')})",
            lambda: f"{text()}|trim({self.of('str')})",
            lambda: f"{text()}.replace({self.of('str')}, {self.of('str')}{self.pick('', ', 1', ', 0', ', -1')})",
            lambda: f"{text()}|replace({self.of('str')}, {self.of('str')}{self.pick('', ', 1', ', count=2')})",
            lambda: f"{self.group(self.of('list'))}|join{self.pick('', '(' + self.of('str') + ')', '(', '', '')}".rstrip("("),
            lambda: f"users|join({self.of('str')}, attribute={self.pick(repr('name'), repr('zz'))})",
            lambda: f"{text()}.join({self.pick('w', 's', self.of('list'))})",
            lambda: f"{self.group(self.any())}|tojson{self.pick('', '(indent=2)', '(ensure_ascii=true)', '(sort_keys=true)', '(separators=(' + repr(',') + ', ' + repr(':') + '))', '(indent=0)')}",
            lambda: f"{text()}|indent{self.pick('', '(2)', '(2, true)', '(first=true, blank=true)', '(' + self.literal() + ')')}",
            lambda: f"({self.random.choice(CONVERSIONS)!r} % {self.pick(self.any(), self.of('int'), self.of('float'), self.of('str'))})",
            lambda: f"({(self.random.choice(CONVERSIONS) + ' ' + self.random.choice(CONVERSIONS))!r} % ({self.any()}, {self.of('int')}))",
            lambda: f"('%(a)s %(b)5.1f' % {{'a': {self.any()}, 'b': {self.of('float')}}})",
            lambda: f"{text()}|format({self.any()})",
            lambda: "'{%s} {%s}'.format(%s, %s)" % (self.random.choice(SPECS), self.random.choice(SPECS), self.any(), self.pick(self.of('int'), self.of('float'))),
            lambda: "'{0%s}{k}{0}'.format(%s, k=%s)" % (self.random.choice(SPECS), self.any(), self.any()),
            lambda: "'{0[%s]}{1.%s}'.format(%s, %s)" % (self.pick('0', 'a', '-1'), self.pick('name', 'b', '__class__'), self.of('list'), self.of('dict')),
            lambda: f"{text()}.{self.pick('ljust', 'rjust', 'center')}({self.of('int')}{self.pick('', ', ' + repr('*'))})",
            lambda: f"{text()}.zfill({self.of('int')})",
            lambda: f"{text()}|center(11)",
            lambda: f"{text()}|truncate({self.pick('5', '9, true', '10, end=' + repr('!'), '4, leeway=0')})",
            lambda: f"{text()}.{self.pick('removeprefix', 'removesuffix')}({self.of('str')})",
        )()

    def slice(self):
        part = lambda: self.pick("", "", "1", "-1", "2", "-2", "100", "-100", "none", "b", "0")
        return f"{part()}:{part()}{self.pick('', '', ':' + self.pick('1', '2', '-1', '-2', '3', 'none', '-3', ''))}"

    def test(self):
        return self.pick("'odd'", "'string'", "'number'", "'defined'", "'none'", "'eq', 1", "'in', [1, 'a']", "'gt', 1", "'nope'", "'mapping'")

    def make_list(self):
        items = lambda: self.group(self.of("list"))
        return self.pick(
            lambda: f"[{self.any()}, {self.any()}]",
            lambda: f"({self.any()}, {self.any()})",
            lambda: f"({self.of('list')} + {self.of('list')})",
            lambda: f"({self.of('list')} * {self.pick('0', '2', '-1')})",
            lambda: f"{items()}[{self.slice()}]",
            lambda: f"{items()}|{self.pick('list', 'sort', 'unique|list', 'reverse|list')}",
            lambda: f"{self.group(self.any())}|list",
            lambda: f"{items()}|sort({self.pick('true', 'reverse=true', 'case_sensitive=true')})",
            lambda: f"users|sort(attribute={self.pick(repr('age'), repr('name'), repr('age,name'), repr('zz'))}{self.pick('', ', reverse=true')})",
            lambda: f"users|groupby({self.pick(repr('age'), repr('name'), repr('zz'))}{self.pick('', ', default=1')})",
            lambda: f"{items()}|map({self.pick(*map(repr, ('upper', 'string', 'int', 'length', 'trim', 'abs', 'nope', 'first')))})|list",
            lambda: f"{items()}|map('default', {self.any()})|list",
            lambda: f"{items()}|{self.pick('select', 'reject')}{self.pick('', '(' + self.test() + ')')}|list",
            lambda: f"users|{self.pick('selectattr', 'rejectattr')}({self.pick(repr('ok'), repr('age'), repr('name'))}{self.pick('', ', ' + self.test())})|list",
            lambda: f"{items()}|{self.pick('batch', 'slice')}({self.pick('2', '3')}{self.pick('', ', 0', ', none')})|list",
            lambda: f"{self.group(self.of('str'))}.{self.pick('split', 'rsplit')}({self.pick('', self.of('str'), self.of('str') + ', 1', 'none, 1', 'maxsplit=2')})",
            lambda: f"{self.group(self.of('str'))}.splitlines({self.pick('', 'true')})",
            lambda: f"{self.group(self.of('str'))}.{self.pick('partition', 'rpartition')}({self.of('str')})",
            lambda: f"{self.group(self.of('dict'))}.{self.pick('items', 'keys', 'values')}(){self.pick('', '|list')}",
            lambda: f"{self.group(self.of('dict'))}|{self.pick('items|list', 'list', 'dictsort', 'dictsort(true)', 'dictsort(reverse=true)', 'dictsort(by=' + repr('value') + ')')}",
            lambda: f"range({self.pick('3', '1, 4', '5, 0, -2', 'a')}){self.pick('', '|list')}",
        )()

    def make_dict(self):
        return self.pick(
            lambda: f"{{{self.of('str')}: {self.any()}, {self.pick('1', 'true', '1.0', '(1, 2)', self.of('str'))}: {self.any()}}}",
            lambda: f"dict({self.of('dict')}, q={self.any()})",
            lambda: f"{self.group(self.of('dict'))}.copy()",
            lambda: self.leaf("dict"),
        )()

    # Statements.

    def white(self):
        return self.random.choice(["", "", " ", "\n", "\n\n", "  ", "\n  ", "\t", " \n ", "text", "x\n", "é ", "\r\n"])

    def tag(self, inside):
        return "{%" + self.pick("", "", "-", "-", "+") + f" {inside} " + self.pick("", "", "-", "-", "+") + "%}"

    def printed(self):
        return "{{" + self.pick("", "", "-") + f" {self.any()} " + self.pick("", "", "-") + "}}"

    def name(self):
        return self.pick("v", "w1", "acc")

    def body(self, level):
        out = self.white()
        for _ in range(self.random.randint(1, 2)):
            out += self.statement(level) + self.white()
        return out

    def scoped(self, level, *names):
        self.names.extend(names)
        out = self.body(level)
        del self.names[len(self.names) - len(names):]
        return out

    def statement(self, level):
        if level >= 3 or self.chance(0.45):
            return self.printed()
        level += 1
        tag = self.tag
        return self.pick(
            lambda: tag(f"if {self.of('bool')}") + self.body(level) + self.pick("", tag("else") + self.body(level),
                        tag(f"elif {self.any()}") + self.body(level) + tag("else") + self.body(level)) + tag("endif"),
            lambda: tag(f"for i in {self.of('list')}{self.pick('', ' if ' + self.pick('i', 'i is string', 'not i', self.of('bool')))}")
                    + self.loop_body(level) + self.pick("", tag("else") + self.body(level)) + tag("endfor"),
            lambda: tag(f"for k, v in {self.group(self.of('dict'))}.items()") + self.scoped(level, "k", "v") + self.loop_state() + tag("endfor"),
            lambda: tag(f"for i in [[1, [2]], [3]]{' recursive'}") + "{{ i }}{{ loop.depth }}"
                    + self.pick("{{ loop(i) if i is iterable and i is not string }}", "{{ loop.depth0 }}") + tag("endfor"),
            lambda: tag(f"set {self.name()} = {self.any()}") + "{{ v }}{{ acc }}",
            lambda: tag("set w1" + self.pick("", " | upper", " | trim | length")) + self.body(level) + tag("endset") + "[{{ w1 }}]",
            lambda: tag(f"set ns = namespace(n={self.any()})") + tag("for i in l") + tag(f"set ns.n = {self.pick('i', 'ns.n ~ i', self.any())}")
                    + tag("endfor") + "{{ ns.n }}",
            lambda: tag(f"macro mm(p, q={self.any()})") + self.scoped(level, "p", "q") + self.pick("", "{{ varargs }}", "{{ kwargs }}", "{{ caller() if caller }}")
                    + tag("endmacro") + "{{ mm(" + self.pick("", self.any(), f"{self.any()}, q={self.any()}", f"1, 2, {self.any()}", f"r={self.any()}", "*l") + ") }}",
            lambda: tag("macro mc(p)") + "<{{ caller(" + self.pick("", "p") + ") }}>" + tag("endmacro") + tag(f"call{self.pick('', '(z)', '(z=1)')} mc({self.any()})")
                    + self.scoped(level, "z") + tag("endcall"),
            lambda: tag("filter " + self.pick("upper", "trim", "replace('a', 'b')", "indent(2)|title")) + self.body(level) + tag("endfilter"),
            lambda: tag(f"with v = {self.any()}, z = {self.any()}") + self.scoped(level, "v", "z") + tag("endwith"),
            lambda: tag("generation") + self.body(level) + tag("endgeneration"),
            lambda: "{#" + self.pick("", "-", "+") + self.pick(" note ", "\n", " {{ x }} ") + self.pick("", "-") + "#}",
            lambda: tag("raw") + "{{ x }} {% if" + self.white() + tag("endraw"),
        )()

    def loop_state(self):
        return self.pick("", "{{ loop." + self.pick("index", "index0", "revindex", "revindex0", "first", "last", "length", "previtem", "nextitem", "depth",
                         "cycle('a', 'b')", "changed(i)", "cycle(1)", "zz") + " }}")

    def loop_body(self, level):
        control = self.pick("", "", "", self.tag(f"if {self.pick('loop.index > 1', 'i', self.of('bool'))}") + self.tag(self.pick("break", "continue")) + "{% endif %}")
        return self.loop_state() + control + self.scoped(level, "i") + self.loop_state()


def template(seed):
    return Generator(seed).body(0)
