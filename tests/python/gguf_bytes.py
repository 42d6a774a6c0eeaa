"""GGUF files put together field by field, right or wrong, and the smallest model that runs."""

import struct

UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY, UINT64, INT64, FLOAT64 = range(13)
FORMATS = {UINT8: "B", INT8: "b", UINT16: "H", INT16: "h", UINT32: "I", INT32: "i", FLOAT32: "f", BOOL: "?",
           UINT64: "Q", INT64: "q", FLOAT64: "d"}
F32, Q4_0, Q8_0 = 0, 2, 8
BLOCKS = {F32: (1, 4), Q4_0: (32, 18), Q8_0: (32, 34)}  # elements and bytes of a block


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def payload(kind, value):
    """A value's bytes; an array's value is (element type, elements)."""
    if kind == STRING:
        return text(value)
    if kind == ARRAY:
        element, items = value
        return struct.pack("<IQ", element, len(items)) + b"".join(payload(element, item) for item in items)
    return struct.pack("<" + FORMATS[kind], value)


class Gguf:
    """What is set to None follows from the rest; anything else is written as it is."""

    def __init__(self):
        self.magic = b"GGUF"
        self.version = 3
        self.tensor_count = None
        self.metadata_count = None
        self.alignment = 32
        self.metadata = {}  # key → (type, bytes)
        self.repeated = []  # (key, type, bytes) after the others
        self.tensors = {}  # name → {dims: innermost first, type, offset, data}
        self.repeated_tensors = []

    def set(self, key, kind, value):
        self.metadata[key] = (kind, payload(kind, value))

    def set_raw(self, key, kind, data):
        self.metadata[key] = (kind, data)

    def add_tensor(self, name, dims, kind=Q8_0, data=None):
        if data is None:
            elements, size = BLOCKS[kind]
            count = 1
            for dim in dims:
                count *= dim
            data = bytes(count // elements * size)
        self.tensors[name] = {"dims": dims, "type": kind, "offset": None, "data": data}

    def header(self):
        entries = [(key, *value) for key, value in self.metadata.items()] + self.repeated
        tensors = list(self.tensors.items()) + self.repeated_tensors
        tensor_count = len(tensors) if self.tensor_count is None else self.tensor_count
        metadata_count = len(entries) if self.metadata_count is None else self.metadata_count
        out = self.magic + struct.pack("<IQQ", self.version, tensor_count, metadata_count)
        for key, kind, data in entries:
            out += text(key) + struct.pack("<I", kind) + data
        place = 0
        for name, tensor in tensors:
            offset = place if tensor["offset"] is None else tensor["offset"]
            dims = tensor["dims"]
            count = tensor.get("dimension_count", len(dims))
            out += text(name) + struct.pack(f"<I{len(dims)}Q", count, *dims) + struct.pack("<IQ", tensor["type"], offset)
            place += -(-len(tensor["data"]) // self.alignment) * self.alignment
        return out

    def bytes(self):
        out = bytearray(self.header())
        for tensor in self.tensors.values():
            out += bytes(-len(out) % self.alignment)
            out += tensor["data"]
        return bytes(out)


def byte_tokens():
    """GPT-2's spelling of the 256 bytes: printable Latin-1 as itself, the others from U+0100 on."""
    tokens, spare = [], 256
    for byte in range(256):
        if 33 <= byte <= 126 or (byte >= 161 and byte != 173):
            tokens.append(chr(byte))
        else:
            tokens.append(chr(spare))
            spare += 1
    return tokens


HIDDEN, HEADS, KV_HEADS, HEAD_DIM, FFN, CONTEXT = 64, 4, 2, 16, 96, 128


def tiny_model():
    """One layer of the Llama family with weights of zero and a vocabulary of the bytes, a pair and an end token."""
    model = Gguf()
    model.set("general.architecture", STRING, "llama")
    for key, value in {"block_count": 1, "context_length": CONTEXT, "embedding_length": HIDDEN,
                       "feed_forward_length": FFN, "attention.head_count": HEADS, "attention.head_count_kv": KV_HEADS,
                       "attention.key_length": HEAD_DIM, "rope.dimension_count": HEAD_DIM}.items():
        model.set("llama." + key, UINT32, value)
    model.set("llama.rope.freq_base", FLOAT32, 10000.0)
    model.set("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5)
    model.set("tokenizer.ggml.model", STRING, "gpt2")
    model.set("tokenizer.ggml.pre", STRING, "smollm")
    tokens = byte_tokens() + ["th", "<|im_end|>"]
    model.set("tokenizer.ggml.tokens", ARRAY, (STRING, tokens))
    model.set("tokenizer.ggml.token_type", ARRAY, (INT32, [1] * 257 + [3]))
    model.set("tokenizer.ggml.merges", ARRAY, (STRING, ["t h"]))
    model.set("tokenizer.ggml.eos_token_id", UINT32, 257)
    model.add_tensor("token_embd.weight", [HIDDEN, len(tokens)])
    model.add_tensor("output_norm.weight", [HIDDEN], F32)
    for name, dims in {"attn_q": [HIDDEN, HEADS * HEAD_DIM], "attn_k": [HIDDEN, KV_HEADS * HEAD_DIM],
                       "attn_v": [HIDDEN, KV_HEADS * HEAD_DIM], "attn_output": [HEADS * HEAD_DIM, HIDDEN],
                       "ffn_gate": [HIDDEN, FFN], "ffn_up": [HIDDEN, FFN], "ffn_down": [FFN, HIDDEN]}.items():
        model.add_tensor(f"blk.0.{name}.weight", dims)
    for name in ("attn_norm", "ffn_norm"):
        model.add_tensor(f"blk.0.{name}.weight", [HIDDEN], F32)
    return model
