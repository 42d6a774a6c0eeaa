"""The oracle: a float64 NumPy model of the Llama family and of Gemma 3, straight from a GGUF file's dequantized tensors.

It follows the file's own conventions (Llama's query and key rows interleaved for rotary pairs, Gemma's norms with their
1 already added), shares no code with the engine, and exists to be read: what it computes is what the engine must compute.
"""
import gguf
import numpy as np
from gguf import quants


class Oracle:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.tensors = {t.name: t for t in reader.tensors}
        self.decoded = {}
        self.gemma = reader.fields["general.architecture"].contents() == "gemma3"
        prefix = "gemma3." if self.gemma else "llama."
        field = lambda key: reader.fields[prefix + key].contents()
        self.layers = field("block_count")
        self.heads = field("attention.head_count")
        self.kv_heads = field("attention.head_count_kv")
        self.epsilon = field("attention.layer_norm_rms_epsilon")
        self.theta = field("rope.freq_base")
        self.window = field("attention.sliding_window") if self.gemma else None
        self.embedding = self.weight("token_embd.weight")
        self.head_dim = self.weight("blk.0.attn_q.weight").shape[0] // self.heads
        self.output = self.weight("output.weight") if "output.weight" in self.tensors else self.embedding

    def weight(self, name):
        if name not in self.decoded:
            tensor = self.tensors[name]
            values = quants.dequantize(tensor.data, tensor.tensor_type)
            self.decoded[name] = values.reshape(tuple(reversed(tensor.shape.tolist()))).astype(np.float64)
        return self.decoded[name]

    def is_local(self, layer):
        """Gemma 3: five layers with a window, then one that sees everything."""
        return self.gemma and layer % 6 != 5

    def norm(self, x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.epsilon) * self.weight(name)

    def rotate(self, x, theta):
        """x [tokens, heads, head_dim]; dimensions 2i and 2i + 1 are a pair, in Gemma i and i + head_dim / 2."""
        positions = np.arange(x.shape[0])
        frequencies = float(theta) ** (-np.arange(0, self.head_dim, 2) / self.head_dim)
        angles = positions[:, None] * frequencies[None, :]
        cosine, sine = np.cos(angles)[:, None, :], np.sin(angles)[:, None, :]
        half = self.head_dim // 2
        first, second = (slice(0, half), slice(half, None)) if self.gemma else (slice(0, None, 2), slice(1, None, 2))
        out = np.empty_like(x)
        out[..., first] = x[..., first] * cosine - x[..., second] * sine
        out[..., second] = x[..., second] * cosine + x[..., first] * sine
        return out

    def attention(self, x, layer):
        prefix = f"blk.{layer}."
        tokens = x.shape[0]
        split = lambda name, heads: (x @ self.weight(prefix + name).T).reshape(tokens, heads, self.head_dim)
        query, key = split("attn_q.weight", self.heads), split("attn_k.weight", self.kv_heads)
        if self.gemma:
            query = self.norm(query, prefix + "attn_q_norm.weight")
            key = self.norm(key, prefix + "attn_k_norm.weight")
        theta = 10000.0 if self.is_local(layer) else self.theta
        query = self.rotate(query, theta)
        key = np.repeat(self.rotate(key, theta), self.heads // self.kv_heads, 1)
        value = np.repeat(split("attn_v.weight", self.kv_heads), self.heads // self.kv_heads, 1)
        scores = np.einsum("qhd,khd->hqk", query, key) / np.sqrt(self.head_dim)
        position = np.arange(tokens)
        hidden = position[None, :] > position[:, None]
        if self.is_local(layer):
            hidden |= position[:, None] - position[None, :] >= self.window
        scores[:, hidden] = -np.inf
        scores -= scores.max(-1, keepdims=True)
        weights = np.exp(scores)
        weights /= weights.sum(-1, keepdims=True)
        mixed = np.einsum("hqk,khd->qhd", weights, value).reshape(tokens, -1)
        return mixed @ self.weight(prefix + "attn_output.weight").T

    def mlp(self, x, prefix):
        gate = x @ self.weight(prefix + "ffn_gate.weight").T
        up = x @ self.weight(prefix + "ffn_up.weight").T
        if self.gemma:
            activated = 0.5 * gate * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)))
        else:
            activated = gate / (1 + np.exp(-gate))
        return (activated * up) @ self.weight(prefix + "ffn_down.weight").T

    def logits(self, ids):
        """float64 [tokens, vocabulary]: row t is the prediction after ids[0 … t]."""
        x = self.embedding[np.asarray(ids)]
        if self.gemma:
            x = x * np.sqrt(x.shape[1])
        for layer in range(self.layers):
            prefix = f"blk.{layer}."
            mixed = self.attention(self.norm(x, prefix + "attn_norm.weight"), layer)
            x = x + (self.norm(mixed, prefix + "post_attention_norm.weight") if self.gemma else mixed)
            fed = self.mlp(self.norm(x, prefix + "ffn_norm.weight"), prefix)
            x = x + (self.norm(fed, prefix + "post_ffw_norm.weight") if self.gemma else fed)
        return self.norm(x, "output_norm.weight") @ self.output.T


def log_softmax(logits):
    logits = logits.astype(np.float64)
    logits = logits - logits.max(-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def kl_divergence(reference, other):
    """Mean over rows of KL(softmax(reference) ‖ softmax(other)); few rows at a time, so that they stay in the cache."""
    total = 0.0
    for row in range(0, len(reference), 8):
        p, q = log_softmax(reference[row:row + 8]), log_softmax(other[row:row + 8])
        total += float((np.exp(p) * (p - q)).sum())
    return total / len(reference)
