# SPDX-License-Identifier: Apache-2.0
"""Writes golden.safetensors: inputs and outputs of PyTorch's own modules, which golden.h holds fovea to.

Everything is computed in float64 and rounded to f32 once at the end, so the files say what is right and not what
PyTorch's f32 kernels give. Names and shapes carry all that the tests need; their cases stand in operators.c and
layers.c.

usage: python3 make.py golden.safetensors        (made with Debian 12's python3-torch 1.13)
"""
import json
import struct
import sys

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(20240501)
tensors = {}


def add(name, tensor):
    """Stores a tensor; returns it as the file has it, so that both sides begin with the same numbers."""
    kind = torch.uint8 if tensor.dtype in (torch.bool, torch.uint8) else torch.float32
    tensors[name] = tensor.detach().to(kind).contiguous()
    return tensors[name].double() if kind == torch.float32 else tensor


def rand(*shape):
    return torch.randn(*shape).double()


def rows():
    x = add("layernorm.x", 3 * rand(7, 37) + 1)
    gamma, beta = add("layernorm.gamma", rand(37)), add("layernorm.beta", rand(37))
    add("layernorm.y", F.layer_norm(x, (37,), gamma, beta, 1e-5))
    add("layernorm.plain", F.layer_norm(x, (37,), None, None, 1e-5))
    x = add("gelu.x", 3 * rand(9, 31))
    add("gelu.erf", F.gelu(x))
    add("gelu.tanh", F.gelu(x, approximate="tanh"))
    x = add("softmax.x", 4 * rand(6, 53))
    add("softmax.y", F.softmax(x, -1))
    add("softmax.log", F.log_softmax(x, -1))


def attention():
    """(B, H, L, d) everywhere; a mask is (B, H, Lq, Lk), nonzero = attend."""
    q, k = add("attention.q", rand(2, 3, 5, 8)), add("attention.k", rand(2, 3, 150, 8))
    v = add("attention.v", rand(2, 3, 150, 12))
    add("attention.full", F._scaled_dot_product_attention(q, k, v)[0])
    add("attention.causal", F._scaled_dot_product_attention(q, k, v, is_causal=True)[0])
    mask = torch.rand(2, 3, 5, 150) < 0.4
    mask[..., 0] = True  # PyTorch gives NaN for a row that sees nothing
    add("attention.mask", mask)
    add("attention.masked", F._scaled_dot_product_attention(q, k, v, mask)[0])
    bias = add("attention.bias", rand(5, 150))
    add("attention.biased", F.softmax(q @ k.transpose(-1, -2) / 8**0.5 + bias, -1) @ v)


def randomise(module):
    """PyTorch begins with zero biases and unit norms, which would hide mistakes."""
    with torch.no_grad():
        for parameter in module.parameters():
            fan_in = parameter.shape[-1] if parameter.dim() > 1 else 4
            parameter.copy_((parameter + rand(*parameter.shape) / fan_in**0.5).float().double())
    return module.double()


def add_linear(name, weight, bias):
    add(name + ".weight", weight)
    if bias is not None:
        add(name + ".bias", bias)


def add_projections(name, mha):
    """PyTorch stacks q, k and v where their widths are equal."""
    stacked = mha.in_proj_weight is not None
    weights = mha.in_proj_weight.chunk(3) if stacked else (mha.q_proj_weight, mha.k_proj_weight, mha.v_proj_weight)
    biases = mha.in_proj_bias.chunk(3) if mha.in_proj_bias is not None else (None,) * 3
    for letter, weight, bias in zip("qkv", weights, biases):
        add_linear(f"{name}.{letter}", weight, bias)
    add_linear(f"{name}.o", mha.out_proj.weight, mha.out_proj.bias)


def multihead():
    query, key = add("mha.query", rand(2, 6, 24)), add("mha.key", rand(2, 19, 20))
    value = add("mha.value", rand(2, 19, 28))
    mask = torch.rand(2, 6, 19) < 0.5
    mask[..., 0] = True
    add("mha.mask", mask)
    for name, bias in (("mha.bias", True), ("mha.plain", False)):
        module = randomise(nn.MultiheadAttention(24, 3, bias=bias, kdim=20, vdim=28, batch_first=True))
        add_projections(name, module)
        add(name + ".full", module(query, key, value)[0])
        add(name + ".masked", module(query, key, value, attn_mask=~mask.repeat_interleave(3, 0))[0])
    module = randomise(nn.MultiheadAttention(24, 3, batch_first=True))
    add_projections("mha.self", module)
    causal = torch.ones(6, 6, dtype=torch.bool).triu(1)
    add("mha.self.causal", module(query, query, query, attn_mask=causal)[0])


def add_layer(name, layer):
    add_projections(name + ".self_attention", layer.self_attn)
    norms = {"norm1": layer.norm1, "norm3": layer.norm2}
    if hasattr(layer, "multihead_attn"):
        add_projections(name + ".cross_attention", layer.multihead_attn)
        norms = {"norm1": layer.norm1, "norm2": layer.norm2, "norm3": layer.norm3}
    for norm, module in norms.items():
        add_linear(f"{name}.{norm}", module.weight, module.bias)
    add_linear(name + ".up", layer.linear1.weight, layer.linear1.bias)
    add_linear(name + ".down", layer.linear2.weight, layer.linear2.bias)


def padding(lens, length):
    return torch.arange(length)[None, :] >= torch.tensor(lens)[:, None]


def layers():
    """One set of weights for each kind, in all four combinations of norm and activation. Lengths: layers.c."""
    x, memory = add("layer.x", rand(2, 9, 24)), add("layer.memory", rand(2, 11, 24))
    causal = torch.ones(9, 9, dtype=torch.bool).triu(1)
    options = dict(d_model=24, nhead=3, dim_feedforward=40, dropout=0.0, batch_first=True)
    encoder = randomise(nn.TransformerEncoderLayer(**options))
    decoder = randomise(nn.TransformerDecoderLayer(**options))
    add_layer("encoder", encoder)
    add_layer("decoder", decoder)
    for norm_first in (False, True):
        for activation in ("relu", "gelu"):
            case = f"{'pre' if norm_first else 'post'}_{activation}"
            # In training mode: inference takes another path, which drops the padded rows.
            layer = nn.TransformerEncoderLayer(**options, activation=activation, norm_first=norm_first).double()
            layer.load_state_dict(encoder.state_dict())
            add("encoder." + case, layer(x, src_key_padding_mask=padding((9, 4), 9)))
            add("encoder.whole." + case, layer(x))
            layer = nn.TransformerDecoderLayer(**options, activation=activation, norm_first=norm_first).double()
            layer.load_state_dict(decoder.state_dict())
            add("decoder." + case, layer(x, memory, tgt_mask=causal, memory_key_padding_mask=padding((11, 7), 11)))
            add("decoder.whole." + case, layer(x, memory, tgt_mask=causal))


def gates():
    x = add("silu.x", 3 * rand(9, 31))
    add("silu.y", F.silu(x))
    x = add("rmsnorm.x", 3 * rand(7, 37) + 1)
    gamma = add("rmsnorm.gamma", rand(37))
    plain = x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()  # PyTorch 1.13 has no RMSNorm
    add("rmsnorm.plain", plain)
    add("rmsnorm.y", plain * gamma)
    x = add("glu.x", rand(6, 24))
    gate, value = (F.linear(x, add(f"glu.{half}.weight", rand(21, 24) / 5), add(f"glu.{half}.bias", rand(21)))
                   for half in ("gate", "value"))
    add("glu.silu", F.silu(gate) * value)
    add("glu.gelu", F.gelu(gate) * value)


class RmsNorm(nn.Module):
    """PyTorch 1.13 has none."""
    bias = None

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * self.weight


class GatedDecoder(nn.TransformerDecoderLayer):
    """PyTorch's decoder with RMSNorm and a gated feed-forward network."""

    def __init__(self, gate_activation, norm_first):
        super().__init__(d_model=24, nhead=3, dim_feedforward=40, dropout=0.0, batch_first=True, norm_first=norm_first)
        self.norm1, self.norm2, self.norm3 = RmsNorm(24), RmsNorm(24), RmsNorm(24)
        self.gate, self.gate_activation = nn.Linear(24, 40), gate_activation

    def _ff_block(self, x):
        return self.linear2(self.gate_activation(self.gate(x)) * self.linear1(x))


def gated_layers():
    x, memory = (tensors[name].double() for name in ("layer.x", "layer.memory"))
    causal = torch.ones(9, 9, dtype=torch.bool).triu(1)
    decoder = randomise(GatedDecoder(F.silu, False))
    add_layer("gated", decoder)
    add_linear("gated.gate", decoder.gate.weight, decoder.gate.bias)
    for norm_first in (False, True):
        for activation in ("silu", "gelu"):
            layer = GatedDecoder(getattr(F, activation), norm_first).double()
            layer.load_state_dict(decoder.state_dict())
            case = f"gated.{'pre' if norm_first else 'post'}_{activation}"
            add(case, layer(x, memory, tgt_mask=causal, memory_key_padding_mask=padding((11, 7), 11)))


def terms():
    """What attention may add to a score, one by one and all at once; row i stands at position i + 70 of 150 keys."""
    q, k = add("terms.q", rand(1, 2, 20, 8)), add("terms.k", rand(1, 2, 150, 8))
    v = add("terms.v", rand(1, 2, 150, 12))
    slopes, sinks = add("terms.slopes", rand(2).abs() / 8), add("terms.logits", rand(2))
    away = torch.arange(150)[None, :] - torch.arange(20)[:, None] - 70
    segment = torch.arange(150) // 40  # of a key, and of the row at its position
    cut = {"window": (away >= -20) & (away <= 5), "segments": segment[None, :] == segment[70:90, None],
           "blocks": (torch.arange(150)[None, :] // 32 + torch.arange(20)[:, None] // 8) % 2 == 0}
    scores = q @ k.transpose(-1, -2) / 8**0.5
    capped = 3 * torch.tanh(scores / 3)
    fallen = -slopes[:, None, None] * away.abs()

    def finish(name, s, sink=None):
        extra = torch.full((2,), float("-inf")).double() if sink is None else sink
        s = torch.cat((s, extra[:, None, None].expand(1, 2, 20, 1)), -1)
        add("terms." + name, F.softmax(s, -1)[..., :-1] @ v)
        add("terms." + name + ".lse", torch.logsumexp(s, -1))

    finish("softcap", capped)
    finish("alibi", scores + fallen)
    finish("sinks", scores, sinks)
    for name, mask in cut.items():
        finish(name, scores.masked_fill(~mask, float("-inf")))
    seen = cut["window"] & cut["segments"] & cut["blocks"]
    finish("all", (capped + fallen).masked_fill(~seen, float("-inf")), sinks)


def philox(counter, key):
    """Philox4x32-10 (Salmon et al., SC 2011): four words."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def kept(shape, p, seed, first):
    """Which weights of (B, H, Lq, Lk) dropout leaves (docs/numerics.md section 6); row 0 stands at position first."""
    words = [philox((j // 4, i + first, h, b), (seed & 0xFFFFFFFF, seed >> 32))[j % 4]
             for b in range(shape[0]) for h in range(shape[1]) for i in range(shape[2]) for j in range(shape[3])]
    return torch.tensor([word >= int(p * 2**32) for word in words]).reshape(shape)


def returned():
    """What attention returns beside its output, and dropout; four heads on two of K and V, row i at i + 70."""
    q, k = add("returned.q", rand(2, 4, 12, 8)), add("returned.k", rand(2, 2, 140, 8))
    v = add("returned.v", rand(2, 2, 140, 12))
    causal = torch.arange(140)[None, :] <= torch.arange(12)[:, None] + 70
    k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
    causal = causal.expand(2, 4, 12, 140)
    out, weights = F._scaled_dot_product_attention(q, k, v, causal, need_attn_weights=True)
    scores = (q @ k.transpose(-1, -2) / 8**0.5).masked_fill(~causal, float("-inf"))
    add("returned.out", out)
    add("returned.lse", torch.logsumexp(scores, -1))
    add("returned.weights", weights)
    add("returned.average", weights.mean(1))
    add("returned.key_sums", weights.sum(2))
    add("returned.head_sums", weights.sum((2, 3)))
    add("returned.entropy", torch.special.entr(weights).sum(-1))
    add("returned.max_weight", weights.max(-1).values)
    add("returned.max_key", weights.max(-1).indices.to(torch.uint8))
    dropped = weights * kept(weights.shape, 0.25, 0x123456789ABCDEF0, 70) / 0.75
    add("returned.dropped", dropped)
    add("returned.dropped.out", dropped @ v)


def write(path):
    header, data = {"__metadata__": {"made_with": f"torch {torch.__version__}"}}, b""
    for name, tensor in sorted(tensors.items(), key=lambda item: item[1].dtype == torch.uint8):  # f32 stays aligned
        raw = bytes(tensor.flatten().view(torch.uint8).tolist())
        header[name] = {"dtype": "U8" if tensor.dtype == torch.uint8 else "F32",
                        "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


rows()
attention()
multihead()
layers()
gates()  # after the others: new tensors leave the random numbers of the old ones alone
state = torch.get_rng_state()
gated_layers()
torch.set_rng_state(state)
terms()
returned()
write(sys.argv[1])
