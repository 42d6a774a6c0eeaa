"""`adze tokenize` against `tokenizers` and `sentencepiece`, with vocabularies trained here.

ADZE_BIN: the program; without it the tests are skipped. ADZE_GEMMA: Gemma 3's GGUF, for the tests of its vocabulary.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "golden"))
sys.path.insert(0, str(Path(__file__).parent))
import gguf_bytes
from gguf_bytes import ARRAY, BOOL, FLOAT32, INT32, STRING, UINT32

BIN = os.environ.get("ADZE_BIN")
pytestmark = pytest.mark.skipif(not BIN, reason="ADZE_BIN is not set")
tokenizers = pytest.importorskip("tokenizers")
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

import tokenizer_reference as reference

# Texts are put into one, since each start of the program reads the vocabulary again. What stands between them keeps
# them apart for every tokenizer here: no token or word goes across it.
SEPARATOR = "\n\u2603\n"
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


def run(path, *arguments, data):
    return subprocess.run([BIN, "tokenize", "-m", str(path), *arguments], input=data, capture_output=True, timeout=300)


def ids(path, text, *arguments):
    done = run(path, "--ids", *arguments, data=text if isinstance(text, bytes) else text.encode())
    assert done.returncode == 0, done.stderr.decode()
    return [int(word) for word in done.stdout.split()]


def samples(seed, count=300):
    texts = reference.random_texts(seed, count) + reference.NASTY
    random.Random(seed).shuffle(texts)
    return texts


def compare(path, expected, texts, *arguments):
    """All texts at once; where that differs, one by one to show which."""
    joined = SEPARATOR.join(texts)
    if ids(path, joined, *arguments) == expected(joined):
        return
    for text in texts:
        assert ids(path, text, *arguments) == expected(text), repr(text)
    pytest.fail("only the texts together differ")


# SentencePiece

FOUR_BLANKS = "\u2581\u2581\u2581\u2581"
CORPUS = "The quick brown fox, the lazy dog: 12345 and 67.89! na\u00efve caf\u00e9 \u00fcber \u4f60\u597d\u4e16\u754c\u3002 \U0001f600 don't can't   indented\n"


def corpus_lines():
    rng = random.Random(5)
    words = "the of and to in that it with as for was on are by be this from or have an they which one you".split()
    words += "tokenizer vocabulary merge piece score unknown fallback package install kernel system file".split()
    lines = [CORPUS.strip()] * 20
    for _ in range(3000):
        line = " ".join(rng.choice(words) + rng.choice(["", "", "s", "ing", ",", "."]) for _ in range(12))
        lines.append(line.replace(" in ", "  in   ") if rng.random() < 0.2 else line)
    return lines


def train(folder, **options):
    sentencepiece = pytest.importorskip("sentencepiece")
    arguments = dict(
        sentence_iterator=iter(corpus_lines()), model_prefix=str(folder / "spm"), model_type="bpe", vocab_size=700,
        byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False, minloglevel=2,
        add_dummy_prefix=True, allow_whitespace_only_pieces=True, character_coverage=1.0,
        user_defined_symbols=["<tool>", "\n\n", FOUR_BLANKS], control_symbols=["<|end|>"],
    )
    arguments.update(options)
    sentencepiece.SentencePieceTrainer.train(**arguments)
    return sentencepiece.SentencePieceProcessor(model_file=str(folder / "spm.model"))


def kind_of(model, index):
    if model.is_unknown(index):
        return UNKNOWN
    if model.is_control(index):
        return CONTROL
    if model.is_byte(index):
        return BYTE
    return USER_DEFINED if model.id_to_piece(index) in ("<tool>", "\n\n", FOUR_BLANKS) else NORMAL


def write_spm_gguf(model, path, add_space_prefix):
    file = gguf_bytes.Gguf()
    count = model.get_piece_size()
    kinds = [kind_of(model, index) for index in range(count)]
    pieces = [model.id_to_piece(index) for index in range(count)]
    # As converters write them: what is matched before blanks are respelled has blanks.
    pieces = [piece.replace("\u2581", " ") if kind == USER_DEFINED else piece for piece, kind in zip(pieces, kinds)]
    file.set("tokenizer.ggml.model", STRING, "llama")
    file.set("tokenizer.ggml.tokens", ARRAY, (STRING, pieces))
    file.set("tokenizer.ggml.scores", ARRAY, (FLOAT32, [model.get_score(index) for index in range(count)]))
    file.set("tokenizer.ggml.token_type", ARRAY, (INT32, kinds))
    file.set("tokenizer.ggml.bos_token_id", UINT32, model.bos_id())
    file.set("tokenizer.ggml.eos_token_id", UINT32, model.eos_id())
    file.set("tokenizer.ggml.unknown_token_id", UINT32, model.unk_id())
    file.set("tokenizer.ggml.add_space_prefix", BOOL, add_space_prefix)
    path.write_bytes(file.bytes())
    return path


@pytest.mark.parametrize("prefix", [True, False])
@pytest.mark.parametrize("byte_fallback", [True, False])
def test_sentencepiece(tmp_path, prefix, byte_fallback):
    # Blanks that are a token of their own go with no blank before the text, as in Gemma: the library would let them
    # take that blank in.
    symbols = ["<tool>", "\n\n"] + ([] if prefix else [FOUR_BLANKS])
    model = train(
        tmp_path, add_dummy_prefix=prefix, byte_fallback=byte_fallback, user_defined_symbols=symbols,
        vocab_size=700 if byte_fallback else 500,
    )
    path = write_spm_gguf(model, tmp_path / "spm.gguf", prefix)
    seed = int.from_bytes(os.urandom(4), "little")
    print("seed", seed)  # shown where the test fails
    # The library puts the blank only before the whole, llama.cpp (and so the file format) behind added tokens too.
    plain = [text for text in samples(seed) if "<tool>" not in text and "\n\n" not in f"\n{text}\n"]
    compare(path, model.encode, plain if prefix else samples(seed), "--no-special")
    assert ids(path, "the dog") == [model.bos_id()] + model.encode("the dog")
    # Control tokens' texts are text unless they are asked for.
    (end,) = [index for index in range(model.get_piece_size()) if model.id_to_piece(index) == "<|end|>"]
    assert end not in ids(path, "a<|end|>b</s>", "--no-special")
    assert ids(path, "a<|end|>b").count(end) == 1


def test_sentencepiece_round_trip_of_any_bytes(tmp_path):
    path = write_spm_gguf(train(tmp_path), tmp_path / "spm.gguf", True)
    rng = random.Random(11)
    data = bytes(range(256)) + rng.randbytes(3000) + b"  \xe2\x96 \xf0\x9f\x98 x\x00\x00 " + "\u00e9\U0001f600".encode()
    out = run(path, "--ids", "--no-special", data=data)
    assert out.returncode == 0
    assert run(path, "--decode", data=out.stdout).stdout == data


def merges_of(pieces, scores, kinds):
    """A merge for every way to put a piece together of two, ordered as SentencePiece takes them."""
    usable = {piece for piece, kind in zip(pieces, kinds) if kind in (NORMAL, USER_DEFINED)}
    merges = []
    for index, (piece, kind) in enumerate(zip(pieces, kinds)):
        if kind not in (NORMAL, USER_DEFINED):
            continue
        for split in range(1, len(piece)):
            if piece[:split] in usable and piece[split:] in usable:
                merges.append((-scores[index], index, piece[:split], piece[split:]))
    merges.sort()
    return [(left, right) for _, _, left, right in merges]


def sentencepiece_like(pieces, scores, kinds, style, split=False):
    tokenizer = Tokenizer(models.BPE(
        vocab={piece: index for index, piece in enumerate(pieces)}, merges=merges_of(pieces, scores, kinds),
        unk_token="<unk>", fuse_unk=True, byte_fallback=True,
    ))
    replace = normalizers.Replace(" ", "\u2581")
    decoder = [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]
    if style == "llama":
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), replace])
        decoder.append(decoders.Strip(" ", 1, 0))
    elif style == "gemma":
        tokenizer.normalizer = replace
        tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("\u2581", prepend_scheme=style, split=split)
    tokenizer.decoder = decoders.Sequence(decoder)
    return tokenizer


def trained_pieces(folder):
    model = train(folder)
    count = model.get_piece_size()
    pieces = [model.id_to_piece(index) for index in range(count)]
    scores = [model.get_score(index) for index in range(count)]
    return pieces, scores, [kind_of(model, index) for index in range(count)]


@pytest.mark.parametrize("style, split", [
    ("llama", False), ("gemma", False), ("always", False), ("first", False), ("never", False), ("always", True),
])
def test_sentencepiece_like_json(tmp_path, style, split):
    pieces, scores, kinds = trained_pieces(tmp_path)
    tokenizer = sentencepiece_like(pieces, scores, kinds, style, split)
    tokenizer.add_special_tokens([AddedToken(name, normalized=False) for name in ("<unk>", "<s>", "</s>", "<|end|>")])
    tokenizer.add_tokens([AddedToken("<tool>", normalized=False)])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    seed = int.from_bytes(os.urandom(4), "little")
    print("seed", seed)
    texts = samples(seed) + ["a<tool> b", "<tool>", " <tool>  x", "<s>a</s>  b<|end|>", "\u2581a", " a"]
    compare(tmp_path, lambda text: tokenizer.encode(text).ids, texts)
    plain = tokenizer.encode("the dog", add_special_tokens=False).ids
    assert ids(tmp_path / "tokenizer.json", "the dog", "--no-special") == plain


# Byte-level

def byte_level_vocabulary():
    golden = json.loads((Path(__file__).parent.parent / "golden/tokenizer_small.json").read_text())
    return golden["tokens"], golden["merges"], golden["control"], golden["user_defined"]


def split(pattern):
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def byte_level(use_regex=False, prefix=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=use_regex)


TEKKEN = reference.O200K.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", "").replace(r"\p{N}{1,3}", r"\p{N}")
QWEN35 = reference.QWEN2.replace(r"?\p{L}+", r"?[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")
CJK = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
DEEPSEEK3 = (
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*"
    "|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
)
DIGITS = pre_tokenizers.Digits
SEQUENCES = {
    "gpt-2": [byte_level(True)],
    "smollm": [DIGITS(individual_digits=True), byte_level(True)],
    "llama-bpe": [split(reference.LLAMA3), byte_level()],
    "qwen2": [split(reference.QWEN2), byte_level()],
    "qwen35": [split(QWEN35), byte_level()],
    "gpt-4o": [split(reference.O200K), byte_level()],
    "tekken": [split(TEKKEN), byte_level()],
    "falcon": [pre_tokenizers.Punctuation("contiguous"), byte_level(True), DIGITS(individual_digits=False),
               split("[0-9][0-9][0-9]")],
    "deepseek-coder": [split("[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), split(CJK),
                       DIGITS(individual_digits=True), byte_level()],
    "deepseek-v3": [split(r"\p{N}{1,3}"), split("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"), split(DEEPSEEK3), byte_level()],
    "default": [pre_tokenizers.Punctuation("contiguous"),
                split(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
                split(r"\p{N}+"), split("[0-9][0-9][0-9]"), byte_level()],
}
NFC = {"qwen2"}


@pytest.mark.parametrize("name", SEQUENCES)
def test_byte_level(tmp_path, name):
    """The same vocabulary as tokenizer.json and as GGUF, against the library that wrote the former."""
    tokens, merges, control, user_defined = byte_level_vocabulary()
    ignore_merges = name in ("llama-bpe", "tekken")
    tokenizer = Tokenizer(models.BPE(
        vocab={token: index for index, token in enumerate(tokens)}, merges=[tuple(merge.split(" ")) for merge in merges],
        ignore_merges=ignore_merges,
    ))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(SEQUENCES[name])
    tokenizer.decoder = decoders.ByteLevel()
    if name in NFC:
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.add_special_tokens([AddedToken(text, normalized=False) for text in control])
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in user_defined])
    tokenizer.save(str(tmp_path / "tokenizer.json"))

    file = gguf_bytes.Gguf()
    file.set("tokenizer.ggml.model", STRING, "gpt2")
    file.set("tokenizer.ggml.pre", STRING, name)
    file.set("tokenizer.ggml.tokens", ARRAY, (STRING, tokens))
    file.set("tokenizer.ggml.merges", ARRAY, (STRING, merges))
    kinds = [CONTROL if token in control else USER_DEFINED if token in user_defined else NORMAL for token in tokens]
    file.set("tokenizer.ggml.token_type", ARRAY, (INT32, kinds))
    file.set("tokenizer.ggml.add_bos_token", BOOL, False)
    (tmp_path / "vocabulary.gguf").write_bytes(file.bytes())

    seed = int.from_bytes(os.urandom(4), "little")
    print("seed", seed)
    texts = samples(seed)
    for path in (tmp_path, tmp_path / "vocabulary.gguf"):
        compare(path, lambda text: tokenizer.encode(text).ids, texts)


def test_prefix_blank_and_rules_of_added_tokens(tmp_path):
    tokens, merges, control, user_defined = byte_level_vocabulary()
    tokenizer = Tokenizer(models.BPE(
        vocab={token: index for index, token in enumerate(tokens)}, merges=[tuple(merge.split(" ")) for merge in merges]))
    tokenizer.pre_tokenizer = byte_level(True, prefix=True)
    tokenizer.add_special_tokens([
        AddedToken("<|im_start|>", lstrip=True, normalized=False), AddedToken("<|im_end|>", rstrip=True, normalized=False),
        AddedToken("[both]", lstrip=True, rstrip=True, normalized=False),
    ])
    tokenizer.add_tokens([
        AddedToken("word", single_word=True, normalized=False), AddedToken("<a", normalized=True),
        AddedToken("x<", normalized=False), AddedToken("\u00e9t\u00e9", single_word=True, normalized=True),
    ])
    tokenizer.post_processor = processors.ByteLevel()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    texts = [
        "a  <|im_start|>  b", "a \n<|im_end|> \u3000\n b<|im_end|>", " [both] [both]  x", "word words sword word_ word's",
        "word", " word ", "\u00e9word word\u00e9 word\u0301 word1", "x<a <ax< x<x<a", "\u00e9t\u00e9s \u00e9t\u00e9 a", "[both]", "  ",
    ]
    rng = random.Random(1)
    parts = ["word", "s", " ", "  ", "\n", "<|im_start|>", "<|im_end|>", "[both]", "x<", "<a", "\u00e9t\u00e9", "\u0301", "a", "_", "7", "-"]
    texts += ["".join(rng.choice(parts) for _ in range(rng.randint(1, 12))) for _ in range(60)]
    for text in texts:
        assert ids(tmp_path, text) == tokenizer.encode(text).ids, repr(text)


# Gemma

@pytest.mark.skipif("ADZE_GEMMA" not in os.environ, reason="ADZE_GEMMA is not set")
def test_gemma_against_tokenizers(tmp_path):
    gguf = pytest.importorskip("gguf")
    fields = gguf.GGUFReader(os.environ["ADZE_GEMMA"]).fields
    pieces = fields["tokenizer.ggml.tokens"].contents()
    scores = fields["tokenizer.ggml.scores"].contents()
    kinds = fields["tokenizer.ggml.token_type"].contents()
    tokenizer = sentencepiece_like(pieces, scores, kinds, "gemma")
    added = [piece for piece, kind in zip(pieces, kinds) if kind == USER_DEFINED]
    tokenizer.add_tokens([AddedToken(piece, normalized=False) for piece in added])
    assert tokenizer.get_vocab_size() == len(pieces)
    seed = int.from_bytes(os.urandom(4), "little")
    print("seed", seed)
    texts = samples(seed, 2000) + [" " * count for count in range(1, 40)] + ["\n" * count for count in range(1, 40)]
    texts += ["\t" * count + " " * (count % 7) + "x" for count in range(1, 40)]
    compare(os.environ["ADZE_GEMMA"], lambda text: tokenizer.encode(text).ids, texts, "--no-special")
