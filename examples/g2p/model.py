# SPDX-License-Identifier: Apache-2.0
"""A small pre-norm encoder-decoder Transformer, written out in full.

Tensors are [rows, tokens, width].  A row may hold several words side by side
(training packs four): `positions` restart in each word and an additive mask
(0, or -1e9 where hidden) keeps every word's attention to itself.
"""
import math

import torch
from torch import nn

CONFIG = {"d_model": 128, "heads": 4, "encoder_layers": 4,
          "decoder_layers": 4, "ffn": 512}
NORM_EPS = 1e-5


def sinusoids(count, width):
    """PE[pos, 2i] = sin(pos / 10000^(2i/width)), PE[pos, 2i+1] = its cosine."""
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    angles = torch.arange(count)[:, None] * rates
    return torch.stack((angles.sin(), angles.cos()), -1).reshape(count, width)


class Dropout(nn.Module):
    """Dropout whose masks are random windows of one pool of random bits.

    Drawing fresh random numbers would cost more than the layers themselves.
    """
    POOL = 1 << 22

    def __init__(self, rate):
        super().__init__()
        keep = (torch.rand(self.POOL) >= rate).float() / (1 - rate)
        self.register_buffer("pool", keep, persistent=False)

    def forward(self, x):
        if not self.training:
            return x
        start = int(torch.randint(self.POOL - x.numel(), ()))
        return x * self.pool[start:start + x.numel()].view_as(x)


class Attention(nn.Module):
    """Multi-head attention; `inputs` names the projections fused in one GEMM."""

    def __init__(self, width, heads, parts):
        super().__init__()
        self.heads, self.parts = heads, parts
        for part in parts + ["o"]:
            layer = nn.Linear(width, width * len(part))
            for block in layer.weight.data.split(width):
                nn.init.xavier_uniform_(block)
            nn.init.zeros_(layer.bias)
            self.add_module(part, layer)

    def split_heads(self, x):
        rows, tokens, width = x.shape
        x = x.view(rows, tokens, self.heads, width // self.heads)
        return x.transpose(1, 2)

    def forward(self, x, memory, mask):
        width = x.shape[-1]
        if self.parts == ["qkv"]:
            q, k, v = self.qkv(x).split(width, -1)
        else:
            q = self.q(x)
            k, v = self.kv(memory).split(width, -1)
        q, k, v = self.split_heads(q), self.split_heads(k), self.split_heads(v)
        scores = q @ k.transpose(-1, -2) * (width // self.heads) ** -0.5
        weights = torch.softmax(scores + mask, -1)
        return self.o((weights @ v).transpose(1, 2).reshape(x.shape))


class FeedForward(nn.Module):
    def __init__(self, width, hidden, dropout):
        super().__init__()
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.dropout = dropout
        for layer in (self.up, self.down):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        return self.down(self.dropout(torch.relu(self.up(x))))


class Layer(nn.Module):
    """One encoder or decoder layer: norm, sub-layer, dropout, residual."""

    def __init__(self, config, dropout, cross):
        super().__init__()
        width, heads = config["d_model"], config["heads"]
        self.self_attention = Attention(width, heads, ["qkv"])
        self.cross_attention = Attention(width, heads, ["q", "kv"]) if cross else None
        self.ffn = FeedForward(width, config["ffn"], dropout)
        self.norm1 = nn.LayerNorm(width, NORM_EPS)
        self.norm2 = nn.LayerNorm(width, NORM_EPS)
        self.norm3 = nn.LayerNorm(width, NORM_EPS) if cross else None
        self.dropout = dropout

    def forward(self, x, mask, memory=None, memory_mask=None):
        x = x + self.dropout(self.self_attention(self.norm1(x), None, mask))
        if self.cross_attention is None:
            return x + self.dropout(self.ffn(self.norm2(x)))
        x = x + self.dropout(self.cross_attention(self.norm2(x), memory, memory_mask))
        return x + self.dropout(self.ffn(self.norm3(x)))


class Stack(nn.Module):
    """The encoder or the decoder: layers and a final norm."""

    def __init__(self, config, count, dropout, cross):
        super().__init__()
        self.layers = nn.ModuleList(Layer(config, dropout, cross) for _ in range(count))
        self.norm = nn.LayerNorm(config["d_model"], NORM_EPS)

    def forward(self, x, *rest):
        for layer in self.layers:
            x = layer(x, *rest)
        return self.norm(x)


class Transformer(nn.Module):
    def __init__(self, source_size, target_size, config=CONFIG, dropout=0.0):
        super().__init__()
        width = config["d_model"]
        self.scale = math.sqrt(width)
        self.dropout = Dropout(dropout)
        self.source_embedding = nn.Embedding(source_size, width)
        self.target_embedding = nn.Embedding(target_size, width)
        for table in (self.source_embedding, self.target_embedding):
            nn.init.normal_(table.weight, std=width ** -0.5)
        self.encoder = Stack(config, config["encoder_layers"], self.dropout, False)
        self.decoder = Stack(config, config["decoder_layers"], self.dropout, True)
        self.output = nn.Linear(width, target_size)
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.zeros_(self.output.bias)
        self.register_buffer("sinusoids", sinusoids(256, width), persistent=False)

    def embed(self, table, tokens, positions):
        return self.dropout(table(tokens) * self.scale + self.sinusoids[positions])

    def encode(self, source, positions, mask):
        return self.encoder(self.embed(self.source_embedding, source, positions), mask)

    def decode(self, target, positions, mask, memory, memory_mask):
        x = self.embed(self.target_embedding, target, positions)
        return self.output(self.decoder(x, mask, memory, memory_mask))


def masks(source, target, group, pad):
    """Additive masks of packed rows: encoder self, decoder self, cross.

    Each row of `source` and `target` is `group` equally long words.
    """
    def words(tokens):
        return torch.arange(group).repeat_interleave(tokens.shape[1] // group)

    def additive(allowed):
        return torch.zeros(allowed.shape).masked_fill_(~allowed, -1e9)

    s, t = words(source), words(target)
    present = (source != pad)[:, None, None, :]
    causal = torch.ones(len(t), len(t), dtype=torch.bool).tril()
    return (additive((s[:, None] == s) & present),
            additive((t[:, None] == t) & causal)[None, None],
            additive((t[:, None] == s) & present))
