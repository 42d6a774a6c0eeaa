"""Writes the seeds of fuzz/seeds that are files of a format, with packages that were not written here.

python make_seeds.py: needs gguf, numpy, safetensors and tokenizers.
"""
import json
import pathlib

import gguf
import numpy as np
import safetensors.numpy
import tokenizers

SEEDS = pathlib.Path(__file__).parent / "seeds"


def folder(target):
    path = SEEDS / target
    path.mkdir(parents=True, exist_ok=True)
    return path


def write(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def gguf_values(path):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_custom_alignment(64)
    for kind in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"):
        getattr(writer, f"add_{kind}")(f"x.{kind}", 7)
    writer.add_float32("x.float32", 0.5)
    writer.add_float64("x.float64", -0.5)
    writer.add_bool("x.bool", True)
    writer.add_string("x.string", "text")
    writer.add_array("x.integers", [1, 2, 3])
    writer.add_array("x.reals", [1.5, -2.5])
    writer.add_array("x.strings", ["a", "", "ccc"])
    writer.add_tensor("a.weight", np.arange(6, dtype=np.float32).reshape(2, 3))
    writer.add_tensor("b.weight", np.zeros((1, 18), dtype=np.uint8), raw_dtype=gguf.GGMLQuantizationType.Q4_0)
    write(writer)
    last = gguf.GGUFReader(path).tensors[-1]
    path.write_bytes(path.read_bytes()[:last.data_offset + int(last.n_bytes)])  # without the padding behind it


def gguf_vocabulary(path, model, tokens, types, scores=None, merges=None):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model(model)
    if merges is not None:
        writer.add_tokenizer_pre("gpt-2")
        writer.add_token_merges(merges)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    if scores is not None:
        writer.add_token_scores(scores)
    writer.add_bos_token_id(0)
    writer.add_add_bos_token(True)
    write(writer)


def tokenizer_json(path, model, **parts):
    tokenizer = tokenizers.Tokenizer(model)
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    tokenizer.add_special_tokens(["<s>"])
    # On one line, which is shorter.
    path.write_text(json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False))


def main():
    gguf_values(folder("gguf") / "values")
    gguf_vocabulary(folder("gguf") / "byte_level", "gpt2", ["<s>", "H", "e", "l", "o", "Ġ", "ll", "llo"],
                    [3, 1, 1, 1, 1, 1, 1, 1], merges=["l l", "ll o"])
    gguf_vocabulary(folder("gguf") / "sentencepiece", "llama", ["<s>", "<unk>", "<0x0A>", "▁", "H", "e", "He", "▁He"],
                    [3, 2, 6, 1, 1, 1, 1, 1], scores=[0.0, 0.0, 0.0, -1.0, -2.0, -3.0, -4.0, -5.0])

    safetensors.numpy.save_file({"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.zeros((0, 4), np.int8),
                                 "c": np.ones((), np.float16)},
                                folder("safetensors") / "three", metadata={"format": "pt"})

    bpe = tokenizers.models.BPE({"H": 0, "e": 1, "l": 2, "o": 3, "Ġ": 4, "ll": 5}, [("l", "l")])
    byte_level = {"add_prefix_space": False, "use_regex": True}
    tokenizer_json(folder("tokenizer_json") / "byte_level", bpe,
                   pre_tokenizer=tokenizers.pre_tokenizers.ByteLevel(**byte_level),
                   decoder=tokenizers.decoders.ByteLevel(**byte_level),
                   post_processor=tokenizers.processors.TemplateProcessing("<s> $A", None, [("<s>", 6)]))
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"\p{N}{1,3}"), "isolated")
    tokenizer_json(folder("tokenizer_json") / "split", bpe,
                   pre_tokenizer=tokenizers.pre_tokenizers.Sequence(
                       [split, tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]),
                   normalizer=tokenizers.normalizers.NFC(), decoder=tokenizers.decoders.ByteLevel())
    pieces = tokenizers.models.BPE({"<unk>": 0, "<0x0A>": 1, "▁": 2, "H": 3, "e": 4, "He": 5}, [("H", "e")],
                                   unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    tokenizer_json(folder("tokenizer_json") / "sentencepiece", pieces,
                   normalizer=tokenizers.normalizers.Sequence([tokenizers.normalizers.Prepend("▁"),
                                                               tokenizers.normalizers.Replace(" ", "▁")]),
                   decoder=tokenizers.decoders.Sequence([tokenizers.decoders.Replace("▁", " "),
                                                         tokenizers.decoders.ByteFallback(),
                                                         tokenizers.decoders.Fuse(),
                                                         tokenizers.decoders.Strip(" ", 1, 0)]))

    # Targets that draw numbers from the end of their bytes and text from the beginning.
    text = "Hello, world! 12345 it's \u00e9\u4e2d \U0001f600\n\n  <|im_end|> don't".encode()
    for target in ("stream", "tokenizer_byte_level", "tokenizer_sentencepiece", "utf8"):
        (folder(target) / "text").write_bytes(text)
        (folder(target) / "cut").write_bytes(b"\xe2\x82\xf0\x9f\x98a\xed\xa0\x80\xc0\xf5" + bytes(range(0, 250, 7)))


if __name__ == "__main__":
    main()
