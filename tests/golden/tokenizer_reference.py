"""HF `tokenizers` put together from a vocabulary and merges, and the texts on which tokenizers are compared."""

import random

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def _byte_level(use_regex):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def _split(pattern):
    return pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), _byte_level(False)]
    )


def _pre_tokenizer(name):
    if name == "gpt-2":
        return _byte_level(True)
    if name in ("smollm", "starcoder"):
        return pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), _byte_level(True)]
        )
    return _split({"llama-bpe": LLAMA3, "qwen2": QWEN2, "gpt-4o": O200K}[name])


def build(tokens, merges, pre, added=()):
    """`tokens` by id, `merges` as "left right", `added`: texts recognized wherever they occur."""
    vocabulary = {token: index for index, token in enumerate(tokens)}
    pairs = [tuple(merge.split(" ")) for merge in merges]
    tokenizer = Tokenizer(
        models.BPE(vocab=vocabulary, merges=pairs, ignore_merges=pre == "llama-bpe")
    )
    tokenizer.pre_tokenizer = _pre_tokenizer(pre)
    if pre == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    if added:
        tokenizer.add_tokens([AddedToken(text, normalized=False) for text in added])
        assert tokenizer.get_vocab_size() == len(tokens)
    return tokenizer


NASTY = [
    "",
    " ",
    "a",
    "Hello, world!",
    "The quick brown fox jumps over the lazy dog.",
    " leading blank",
    "trailing blank ",
    "two  blanks   three    four     five",
    "tab\tand\t\ttabs \t mixed",
    "line\nline\n\nline\n\n\nline\r\nline\r\n\r\nline\rend",
    "\n", "\n\n", " \n", "\n ", " \n \n ", "\r\n\r\n\r\n", "\t\n\t\n",
    "   \n   x", "x   \n   ", "a \u00a0b\u00a0 c\u00a0\u00a0d", "a\u2003\u2003b\u3000c\u1680d\u202fe\u205ff",
    "\u180e", "a\u180eb", " \u180e ", "\u180e\u180e\u180e", "x \u180e\u180e y\n\u180e\n", "1\u180e2 \u180e'", "a  \u180eb 1   \u180e c\n\n\u180e",
    "\u0085", "a\u0085b", " \u0085\u0085 x", "\u2028\u2029 \u2028x", "\x0b\x0c \x0bx", "\x1c\x1d\x1e\x1f x",
    "0 1 12 123 1234 12345 3.14159 1,000,000 0x1F 1e-9 v2.0.1", "2024-01-31T12:34:56Z", "a1b22c333d4444",
    "\u0661\u0662\u0663 \u09e7\u09e8 \u00bd \u00b2\u00b3 \u2460 \u2167 \u4e09 \U0001d7d8\U0001d7d9 \uff11\uff12",
    "a\U00010d40\U0001e5f1\U000116e3b \U0001e4f9\U0001e4f8",
    "I'm you're he's we've they'll I'd don't 'twas rock'n'roll",
    "I'M YOU'RE HE'S WE'VE THEY'LL I'D DON'T", "'s 't 're 've 'm 'll 'd 'x '", "it''s 'S'S'ss 'lll 'rE 'Ve",
    "'\u017f it'\u017fs \u212a'll", "don\u2019t it\u2019s",
    "caf\u00e9 na\u00efve r\u00e9sum\u00e9 \u00dcber stra\u00dfe", "cafe\u0301 nai\u0308ve", "e\u0301\u0302\u0303\u0304 o\u0323\u0302",
    "\u0301", " \u0301 \u0301a", "a" + "\u0300\u0323" * 12, "\u1e9b\u0323 \u212b \u2126 \uac00 \u1100\u1161\u11a8", "\u0958 \ufb1d \u0344",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0393\u03b5\u03b9\u03ac \u03c3\u03bf\u03c5 \u03ba\u03cc\u03c3\u03bc\u03b5",
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002\u3053\u3093\u306b\u3061\u306f\u4e16\u754c \uc548\ub155\ud558\uc138\uc694",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645 \u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd \u200f\u202babc\u202c",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u10d2\u10d0\u10db\u10d0\u10e0\u10ef\u10dd\u10d1\u10d0",
    "\u01c5\u01c8 \u02b0\u02b1 \u00aa\u00ba \u16ee \U00010400\U00010428 \U00020000",
    "\U0001f600\U0001f602\U0001f923", "\U0001f44d\U0001f3fd \U0001f44b\U0001f3ff", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "\U0001f3f3\ufe0f\u200d\U0001f308 \U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", "1\ufe0f\u20e3 #\ufe0f\u20e3", "\u2764\ufe0f \u270a\U0001f3fb",
    "zero\u200bwidth\u200c\u200d\u2060\ufeffhere", "\ufeffBOM", "soft\u00adhyphen", "\u200b \u200b", "\U000e0067\U000e0062",
    "\x00", "a\x00b", "\x00\x01\x02\x03\x05\x07\x08", "\x1b[31mred\x1b[0m", "\x7f\x80\x9f", "\x0e\x0f\x10 \x11\x12\x15",
    "\x04\x06\x13\x14\x16\x1d", "a\x04b in\x06in", "\U00040000\U00090000x", "\ufffd\ufffe\uffff \ue000 \U0010ffff \U000f0000",
    "int main(int argc, char** argv) {\n    return argc > 1 ? 0 : 1;\n}\n",
    "def f(x):\n\treturn {k: v for k, v in x.items() if v != None}  # comment\n",
    "<html><body class=\"a-b_c\">&nbsp;&amp;</body></html>", "SELECT * FROM t WHERE a >= 10 AND b <> 'x';",
    "https://example.org/path?q=1&r=%20#frag user@example.org C:\\dir\\file.txt ../../x//y/",
    "$$\\int_0^1 x^2\\,dx = \\frac{1}{3}$$", "!!! ??? ... --- *** ___ ### @@@ ~~~ ``` === +++ ///\n///", "a/\n/b \r\n/ //\n\n",
    "<|endoftext|>", "<|im_start|>user\nhi<|im_end|>\n", "a<|im_start|>b", "<|im_start|><|im_start|>", "<|im_start", "<|im_end|", "<|<|im_end|>|>",
    " <|im_end|> ", "<repo_name><reponame><filename>", "<tool><tool_call><tool_calls>", "<tool_cal", "a xylophone, xylophones", "< |im_end| >", "<|im_end|>s 's", "12<|im_end|>34",
    "supercalifragilisticexpialidocious Donaudampfschifffahrtsgesellschaft pneumonoultramicroscopicsilicovolcanoconiosis",
    "x" * 70, "ab" * 60, "the" * 40, " " * 90, "\n" * 50, " \n" * 30, "\u00e9" * 50, "\U0001f600" * 20, "!" * 64, "A" * 40 + "a" * 40, "0" * 40,
    "camelCaseHTTPServer XMLHttpRequest iPhone McDonald's HTML5's ALLCAPS'S",
]

_POOLS = [
    "abcdefghijklmnopqrstuvwxyz", "ABCXYZ", "0123456789", "     ", "\n\t\r ", ".,;:!?'\"()-_/\\<>|{}[]#@$%^&*+=~`",
    "'s't're've'm'll'd'S'T", "\u00e9\u00fc\u00df\u00f1\u0131\u0130\u017f\u212a", "\u0410\u0411\u0430\u0431\u0451\u03b1\u03c9",
    "\u4e00\u4eba\u3042\u30a2\u30fc\uac00\ub098", "\u0627\u0644\u0639\u05d0\u05d1\u0928\u094d\u0e01\u0e31", "\u0300\u0301\u0323\u0308\u20e3\ufe0f",
    "\u200b\u200c\u200d\u2060\ufeff\u00ad\u180e", "\u00a0\u1680\u2003\u2028\u2029\u202f\u3000\u0085", "\U0001f600\U0001f44d\U0001f3fd\U0001f1e9\U0001f468",
    "\u00bd\u00b2\u0663\u2167\u2460\U0001d7d8", "\x00\x01\x08\x0b\x0c\x1c\x1f\x7f\x80",
]
_WORDS = " the and of Debian package install's don't I'LL <|im_end|> <|im_start|> 2024 http:// \n\n \r\n apt-get".split(" ")


def random_texts(seed, count, longest=40):
    """Unicode texts without surrogates, from pools that mix what tokenizers trip over."""
    rng = random.Random(seed)
    texts = []
    for _ in range(count):
        pools = rng.sample(_POOLS, rng.randint(1, 5))
        text = ""
        for _ in range(rng.randint(1, longest)):
            kind = rng.random()
            if kind < 0.8:
                text += rng.choice(rng.choice(pools))
            elif kind < 0.95:
                text += rng.choice([" ", ""]) + rng.choice(_WORDS)
            else:
                # Planes beyond those that Unicode 14 has assigned behave alike everywhere.
                text += chr(rng.choice([rng.randint(0x20, 0x24f), rng.randint(0x4e00, 0x9fff), rng.randint(0x1f300, 0x1f5ff)]))
        texts.append(text)
    return texts
