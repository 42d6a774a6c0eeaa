#!/usr/bin/env python3
"""Writes tests/golden/tiny/: random models in Hugging Face folders, with the logits that transformers computes.

usage: make_tiny_models.py [NAME …]

Each folder has what save_pretrained() writes (config.json, tokenizer.json, weights …), and
expected.json    a text, its token ids, and the versions of transformers and torch
logits.npy       float32 [tokens, vocabulary]: transformers in float32 on the stored weights, attention "eager"

Weights are drawn wide enough that every part of a layer shows in the logits. Some folders get a config.json as older
versions of transformers wrote it; transformers reads it back for the logits.
Needs the Python packages torch and transformers.
"""
import json
import pathlib
import shutil
import sys

import numpy as np
import tokenizers
import torch
import transformers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

FOLDER = pathlib.Path(__file__).with_name("tiny")
TEXT = ("An adze shapes wood: the blade stands across the handle, and each stroke takes a chip. 7 strokes, 23 chips; "
        "größer ≥ kleiner, 木を削る.\n\tThen the next one.")
CHATML = ("{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
          "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
TURNS = ("{{ bos_token }}{% for message in messages %}<start_of_turn>{{ message.role }}\n{{ message.content | trim }}"
         "<end_of_turn>\n{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}")


def byte_level_tokenizer():
    """As GPT-2's: 256 bytes, a few merges, three control tokens."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    control = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(vocab_size=280, special_tokens=control, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator([TEXT], trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=control[0], eos_token=control[2],
                                                pad_token=control[0], chat_template=CHATML)


def sentencepiece_tokenizer():
    """As Gemma's: blanks become ▁, characters without a token become bytes, a text begins with <bos>."""
    control = ["<pad>", "<eos>", "<bos>", "<unk>"]
    pieces = control + [f"<0x{byte:02X}>" for byte in range(256)] + ["<start_of_turn>", "<end_of_turn>"]
    pieces += sorted(set(TEXT.replace(" ", "▁")) - set("木を削る≥ß\n\t"))
    merges = [("t", "h"), ("th", "e"), ("▁", "the"), ("o", "n"), ("▁", "c"), ("▁c", "h"), ("i", "p")]
    pieces += ["".join(pair) for pair in merges]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = tokenizers.Tokenizer(models.BPE(vocab=vocabulary, merges=merges, byte_fallback=True, fuse_unk=True,
                                                unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A", pair="<bos> $A <bos> $B", special_tokens=[("<bos>", vocabulary["<bos>"])])
    for piece in control + ["<start_of_turn>", "<end_of_turn>"]:
        tokenizer.add_special_tokens([piece])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<bos>", eos_token="<eos>",
                                                pad_token="<pad>", unk_token="<unk>", chat_template=TURNS)


def llama(tokenizer, **options):
    settings = dict(hidden_size=32, num_attention_heads=4, num_key_value_heads=2, head_dim=16, intermediate_size=40,
                    num_hidden_layers=2, max_position_embeddings=512, rms_norm_eps=1e-5, vocab_size=len(tokenizer),
                    bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
                    pad_token_id=tokenizer.pad_token_id)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**{**settings, **options}))


def gemma3(tokenizer, **options):
    settings = dict(hidden_size=32, num_attention_heads=4, num_key_value_heads=1, head_dim=16, intermediate_size=40,
                    num_hidden_layers=4, max_position_embeddings=512, sliding_window=24, query_pre_attn_scalar=24,
                    layer_types=["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"],
                    rope_parameters={"full_attention": {"rope_type": "default", "rope_theta": 1e6},
                                     "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}},
                    vocab_size=len(tokenizer) + 3,  # rows beyond the tokens, as real models have
                    bos_token_id=tokenizer.bos_token_id, eos_token_id=[tokenizer.eos_token_id, 261],
                    pad_token_id=tokenizer.pad_token_id)
    return transformers.Gemma3ForCausalLM(transformers.Gemma3TextConfig(**{**settings, **options}))


def older_config(config, rope_scaling):
    """A config.json of 2024: rope_theta and rope_scaling in place of rope_parameters."""
    config["rope_theta"] = config.pop("rope_parameters")["rope_theta"]
    config["rope_scaling"] = rope_scaling
    config["torch_dtype"] = config.pop("dtype")
    if config["head_dim"] * config["num_attention_heads"] == config["hidden_size"]:
        del config["head_dim"]
    return config


def linear(config):
    return older_config(config, {"type": "linear", "factor": 4.0})


def llama3(config):
    # Wavelengths above 32 tokens are stretched, those below 8 are not, and one lies between.
    return older_config(config, {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                 "original_max_position_embeddings": 32})


MODELS = {
    "llama_f32": dict(model=llama, tokenizer=byte_level_tokenizer),
    "llama_bf16_sharded": dict(model=llama, tokenizer=byte_level_tokenizer, dtype=torch.bfloat16, shard="30KB",
                               options=dict(num_key_value_heads=4, head_dim=32,
                                            rope_parameters={"rope_type": "default", "rope_theta": 5e5})),
    "llama_f16_tied_linear": dict(model=llama, tokenizer=byte_level_tokenizer, dtype=torch.float16, config=linear,
                                  options=dict(tie_word_embeddings=True, num_attention_heads=2, num_key_value_heads=1)),
    "llama_bf16_llama3": dict(model=llama, tokenizer=byte_level_tokenizer, dtype=torch.bfloat16, config=llama3,
                              options=dict(tie_word_embeddings=True)),
    "gemma3_bf16": dict(model=gemma3, tokenizer=sentencepiece_tokenizer, dtype=torch.bfloat16),
    "llama_f32_bias": dict(model=llama, tokenizer=byte_level_tokenizer, options=dict(attention_bias=True, mlp_bias=True)),
}


def randomize(model, centre):
    """Matrices keep the size of what passes through; norms lie around 1 (`centre` is the weight that means 1)."""
    for name, weight in model.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(weight, 0, 0.5)
        elif weight.dim() == 1:
            torch.nn.init.normal_(weight, centre, 0.2)
        else:
            wide = "embed_tokens" in name and not model.config.tie_word_embeddings
            torch.nn.init.normal_(weight, 0, 1.0 if wide else weight.shape[1] ** -0.5)
        if "q_proj" in name or "k_proj" in name:
            weight.data *= 2  # so that attention prefers some tokens clearly


def make(name, model, tokenizer, dtype=torch.float32, shard="1GB", config=None, options=None):
    torch.manual_seed(list(MODELS).index(name) + 1)
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    tokens = tokenizer()
    network = model(tokens, **(options or {}))
    with torch.no_grad():
        randomize(network, 0.0 if model is gemma3 else 1.0)
    network.to(dtype).save_pretrained(folder, max_shard_size=shard)
    tokens.save_pretrained(folder)
    if config is not None:
        path = folder / "config.json"
        path.write_text(json.dumps(config(json.loads(path.read_text())), indent=2) + "\n")

    stored = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    ids = transformers.AutoTokenizer.from_pretrained(folder)(TEXT)["input_ids"]
    with torch.no_grad():
        logits = stored(torch.tensor([ids])).logits[0].numpy()
        if config is not None:  # the settings of rotation count
            plain = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
            plain.config.rope_parameters = {"rope_type": "default", "rope_theta": 10000.0}
            other = type(plain)(plain.config)
            other.load_state_dict(plain.state_dict())
            assert np.abs(other(torch.tensor([ids])).logits[0].numpy() - logits).max() > 0.1 * np.ptp(logits)
    np.save(folder / "logits.npy", logits)
    expected = {"text": TEXT, "ids": ids, "transformers": transformers.__version__, "torch": torch.__version__}
    (folder / "expected.json").write_text(json.dumps(expected, ensure_ascii=False) + "\n")
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{name}: {len(ids)} tokens, logits from {logits.min():.2f} to {logits.max():.2f}, {size} bytes")
    assert size <= 300_000


if __name__ == "__main__":
    for wanted in sys.argv[1:] or MODELS:
        make(wanted, **MODELS[wanted])
