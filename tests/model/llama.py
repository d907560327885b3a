# SPDX-License-Identifier: Apache-2.0
"""The example that continues a text with a model of Hugging Face, on small random ones, against the same arithmetic in
Python's floats.

usage: llama.py [EMULATOR] PROGRAM
"""
import json
import math
import os
import random
import shutil
import struct
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support"))
import tensors  # noqa: E402
from program import check, finish, run  # noqa: E402

PROGRAM = sys.argv[1:]  # with its emulator
BASE = {"hidden_act": "silu", "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2, "vocab_size": 60,
        "num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-5, "eos_token_id": None}
STRETCHED = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
             "original_max_position_embeddings": 64}
FAMILIES = [  # (what is different in config.json, dtype, bias of q, k and v, norms of queries and keys, a head, files)
    ({"model_type": "llama", "rope_theta": 500.0, "rope_scaling": STRETCHED}, "F32", False, False, False, 1),
    ({"model_type": "llama", "num_key_value_heads": None, "rope_scaling": None}, "F16", False, False, True, 1),
    ({"model_type": "mistral", "sliding_window": 5}, "BF16", False, False, True, 3),
    ({"model_type": "qwen2", "num_key_value_heads": 1, "sliding_window": 5, "use_sliding_window": False}, "BF16", True,
     False, False, 1),
    ({"model_type": "qwen3", "head_dim": 10, "rope_parameters": {"rope_theta": 90.0, "rope_type": "default"}}, "F16",
     False, True, True, 2)]


def sizes(config):
    heads, width = config["num_attention_heads"], config["hidden_size"]
    return heads, config["num_key_value_heads"] or heads, config.get("head_dim") or width // heads


def shapes(config, bias, norms, head):
    """The tensors of a model, as transformers names them."""
    heads, kv_heads, dim = sizes(config)
    width, ffn, vocab = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    yield "model.embed_tokens.weight", (vocab, width)
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        for name, outputs in (("q", heads * dim), ("k", kv_heads * dim), ("v", kv_heads * dim)):
            yield f"{layer}self_attn.{name}_proj.weight", (outputs, width)
            if bias:
                yield f"{layer}self_attn.{name}_proj.bias", (outputs,)
        yield layer + "self_attn.o_proj.weight", (width, heads * dim)
        for name in ("q_norm", "k_norm") if norms else ():
            yield f"{layer}self_attn.{name}.weight", (dim,)
        yield layer + "mlp.gate_proj.weight", (ffn, width)
        yield layer + "mlp.up_proj.weight", (ffn, width)
        yield layer + "mlp.down_proj.weight", (width, ffn)
        yield layer + "input_layernorm.weight", (width,)
        yield layer + "post_attention_layernorm.weight", (width,)
    yield "model.norm.weight", (width,)
    if head:
        yield "lm_head.weight", (vocab, width)


def write(folder, config, dtype, bias, norms, head, files, seed=3, change=lambda tensor: tensor):
    """A random model. change returns another tensor in place of one, or None to leave it out."""
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    rng = random.Random(seed)
    values, stored = {}, []
    for name, shape in shapes(config, bias, norms, head):
        values[name] = [rng.gauss(0, 0.5 if len(shape) == 1 else 1 / math.sqrt(shape[1]))
                        for _ in range(math.prod(shape))]
        if name.endswith("norm.weight"):
            values[name] = [1 + v for v in values[name]]
        values[name] = tensors.rounded(values[name], dtype)
        stored.append(change((name, shape, dtype, values[name])))
    stored = [tensor for tensor in stored if tensor is not None]
    for i in range(files):
        name = "model.safetensors" if files == 1 else f"model-{i + 1:05}-of-{files:05}.safetensors"
        tensors.write(os.path.join(folder, name), stored[i::files])
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file, indent=2)
    return values


def nearest(values, dtype):
    """Rounded to dtype, ties to even, as keys and values of a cache are."""
    if dtype != "BF16":
        return tensors.rounded(values, dtype)
    bits = struct.unpack(f"<{len(values)}I", struct.pack(f"<{len(values)}f", *values))
    return list(struct.unpack(f"<{len(bits)}f", struct.pack(
        f"<{len(bits)}I", *((b + 0x7fff + (b >> 16 & 1)) & 0xffff0000 for b in bits))))


def rounded_s8(values, columns):
    """A matrix whose rows are rounded to 8-bit integers times a scale for each 64 columns, as fovea_pack_s8 does."""
    result = []
    for row in range(0, len(values), columns):
        for first in range(row, row + columns, 64):
            group = values[first:min(first + 64, row + columns)]
            fraction, exponent = math.frexp(tensors.rounded([max(map(abs, group)) / 127], "F32")[0])
            scale = math.ldexp(round(fraction * 2**15), exponent - 15)
            result += [min(max(round(v / scale), -127), 127) * scale for v in group]
    return result


def of_s8(values, config, *rest):
    """The model with matrices so rounded; tokens are looked up in the embedding as it was."""
    small = dict(values)
    for name, shape in shapes(config, *rest):
        if len(shape) == 2 and not name.startswith("model.embed"):
            small[name] = rounded_s8(values[name], shape[1])
    if "lm_head.weight" not in small:
        small["lm_head.weight"] = rounded_s8(values["model.embed_tokens.weight"], config["hidden_size"])
    return small


def times(weight, x, bias=None):
    return [sum(a * b for a, b in zip(weight[o * len(x):], x)) + (bias[o] if bias else 0)
            for o in range(len(weight) // len(x))]


def norm(x, gamma, eps):
    scale = 1 / math.sqrt(sum(v * v for v in x) / len(x) + eps)
    return [v * scale * g for v, g in zip(x, gamma)]


def turn(x, position, config):
    """Rotary positions of a head: the first half of its elements with the second."""
    rope = {"rope_theta": config.get("rope_theta", 10000.0), **(config.get("rope_parameters") or {})}
    result, half = list(x), len(x) // 2
    for c in range(half):
        frequency = rope["rope_theta"] ** (-2 * c / len(x))
        if config.get("rope_scaling"):
            length = 2 * math.pi / frequency
            low, high = (STRETCHED["original_max_position_embeddings"] / STRETCHED[name]
                         for name in ("low_freq_factor", "high_freq_factor"))
            if length > low:
                frequency /= STRETCHED["factor"]
            elif length >= high:
                smooth = (STRETCHED["original_max_position_embeddings"] / length - 1) / 3
                frequency *= (1 - smooth) / STRETCHED["factor"] + smooth
        cos, sin = math.cos(position * frequency), math.sin(position * frequency)
        result[c] = x[c] * cos - x[c + half] * sin
        result[c + half] = x[c + half] * cos + x[c] * sin
    return result


class Reference:
    """Reads a text token by token."""

    def __init__(self, values, config, dtype):
        self.values, self.config, self.dtype = values, config, dtype
        self.heads, self.kv_heads, self.dim = sizes(config)
        self.caches = [([], []) for _ in range(config["num_hidden_layers"])]

    def split(self, x, gamma, position):
        heads = [x[i:i + self.dim] for i in range(0, len(x), self.dim)]
        if gamma:
            heads = [norm(h, gamma, self.config["rms_norm_eps"]) for h in heads]
        return [turn(h, position, self.config) for h in heads]

    def attend(self, i, x):
        def project(name):
            return times(self.values[f"{layer}{name}_proj.weight"], x, self.values.get(f"{layer}{name}_proj.bias"))

        layer, (keys, all_values) = f"model.layers.{i}.self_attn.", self.caches[i]
        position = len(keys)
        q = self.split(project("q"), self.values.get(layer + "q_norm.weight"), position)
        k = self.split(project("k"), self.values.get(layer + "k_norm.weight"), position)
        keys.append([nearest(head, self.dtype) for head in k])
        all_values.append(nearest(project("v"), self.dtype))
        window = self.config.get("sliding_window") if self.config["model_type"] == "mistral" else None
        first = max(0, position + 1 - window) if window else 0
        result = []
        for h, query in enumerate(q):
            of = h * self.kv_heads // self.heads
            weights = [math.exp(sum(a * b for a, b in zip(query, key[of])) / math.sqrt(self.dim))
                       for key in keys[first:]]
            for c in range(of * self.dim, (of + 1) * self.dim):
                result.append(sum(w * v[c] for w, v in zip(weights, all_values[first:])) / sum(weights))
        return times(self.values[layer + "o_proj.weight"], result)

    def read(self, token):
        """Returns the logits of the next token."""
        width, eps = self.config["hidden_size"], self.config["rms_norm_eps"]
        embedding = self.values["model.embed_tokens.weight"]
        x = embedding[token * width:(token + 1) * width]
        for i in range(self.config["num_hidden_layers"]):
            layer = f"model.layers.{i}."
            normed = norm(x, self.values[layer + "input_layernorm.weight"], eps)
            x = [a + b for a, b in zip(x, self.attend(i, normed))]
            normed = norm(x, self.values[layer + "post_attention_layernorm.weight"], eps)
            gate, up = (times(self.values[f"{layer}mlp.{name}_proj.weight"], normed) for name in ("gate", "up"))
            inner = [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up)]
            x = [a + b for a, b in zip(x, times(self.values[layer + "mlp.down_proj.weight"], inner))]
        return times(self.values.get("lm_head.weight", embedding), norm(x, self.values["model.norm.weight"], eps))


def continued(values, config, dtype, prompt, count):
    """The likeliest tokens, and by how much each was the likeliest."""
    reference, tokens, margins = Reference(values, config, dtype), [], []
    for token in prompt[:-1]:
        reference.read(token)
    last = prompt[-1]
    for _ in range(count):
        logits = reference.read(last)
        second, best = sorted(logits)[-2:]
        last = logits.index(best)
        tokens.append(last)
        margins.append(best - second)
    return tokens, min(margins)


with tempfile.TemporaryDirectory() as folder:
    prompt, count = [1, 17, 42, 5, 5, 33, 59, 0, 8], 12
    for different, *rest in FAMILIES:
        config = {**BASE, **different, "tie_word_embeddings": not rest[3]}
        values = write(folder, config, *rest)
        want, margin = continued(values, config, rest[0], prompt, count)
        check(margin > 2e-3, config["model_type"], "margin", margin)
        text = run([*PROGRAM, folder, count, *prompt])
        check(text.returncode == 0 and text.stdout.split() == list(map(str, want)), text, want)
        want_s8, margin = continued(of_s8(values, config, *rest[1:4]), config, rest[0], prompt, count)
        small = run([*PROGRAM, "--s8", folder, count, *prompt])
        check(margin > 2e-3, config["model_type"], "s8, margin", margin)
        check(small.returncode == 0 and small.stdout.split() == list(map(str, want_s8)), small, want_s8)
        tensors.write(os.path.join(folder, "consolidated.safetensors"), [("norm.weight", (2,), "F32", [1, 1])])
        check(run([*PROGRAM, folder, count], input=" ".join(map(str, prompt))).stdout == text.stdout, "from stdin")
        check(run([*PROGRAM, folder, count - 3, *prompt, *want[:3]]).stdout.split() == text.stdout.split()[3:],
              "from a later token on")
        for end in (want[4], [61, want[4]]):
            write(folder, {**config, "eos_token_id": end}, *rest)
            stopped = run([*PROGRAM, folder, count, *prompt]).stdout.split()
            check(stopped == text.stdout.split()[:want.index(want[4]) + 1], stopped, "ends with", end)
        for of_config, of_generation in ((want[1], [61, want[4]]), (want[4], None)):  # transformers takes the latter
            write(folder, {**config, "eos_token_id": of_config}, *rest)
            with open(os.path.join(folder, "generation_config.json"), "w") as file:
                json.dump({"eos_token_id": of_generation, "bos_token_id": 1}, file)
            stopped = run([*PROGRAM, folder, count, *prompt]).stdout.split()
            check(stopped == text.stdout.split()[:want.index(want[4]) + 1], stopped, "generation_config.json")

    strange = os.path.join(folder, "[a*b]")  # nothing in a path is a pattern
    os.mkdir(strange)
    write(strange, config, *rest)
    check(run([*PROGRAM, strange, count, *prompt]).stdout == text.stdout, "a path with brackets")
    shutil.rmtree(strange)

    long = [(i * 37 + i * i) % 60 for i in range(300)]  # more than a call takes
    config = {**BASE, **FAMILIES[2][0]}
    values = write(folder, config, *FAMILIES[2][1:])
    want, margin = continued(values, config, "BF16", long, 3)
    text = run([*PROGRAM, folder, 3, *long])
    check(margin > 2e-3 and text.stdout.split() == list(map(str, want)), margin, text, want)

    def refused(says, *args, **more):
        result = run([*PROGRAM, folder, 2, *(args or ["1"])], **more)
        check(result.returncode == 1 and says in result.stderr and result.stdout == "", says, result)

    for token in ("60", "1x", "-1", "", str(2**64 + 1)):
        refused(f"{token}: not the number of a token", token)
    result = run([*PROGRAM, folder, 2], input=" \n")
    check(result.returncode == 1 and "none are given" in result.stderr, result)
    family, *rest = FAMILIES[4]
    good = {**BASE, **family}
    for says, wrong in (("model_type", {"model_type": "gemma"}), ("hidden_act", {"hidden_act": "gelu"}),
                        ("rope_type", {"rope_parameters": {"rope_type": "yarn"}}),
                        ("use_sliding_window", {"use_sliding_window": True}), ("vocab_size", {"vocab_size": None}),
                        ("num_hidden_layers", {"num_hidden_layers": 0}), ("hidden_size", {"hidden_size": 24.5}),
                        ("partial_rotary_factor", {"partial_rotary_factor": 0.5}),
                        ("partial_rotary_factor", {"rope_parameters": {"rope_type": "default",
                                                                       "partial_rotary_factor": 0.25}}),
                        ("num_hidden_layers", {"num_hidden_layers": 1000})):
        write(folder, good, *rest)
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump({**good, **wrong}, file)
        refused(says)
    for says, name, change in (
            ("not in the files", "model.layers.1.mlp.up_proj.weight", lambda t: None),
            ("not in the files", "model.layers.1.input_layernorm.weight", lambda t: None),
            ("not in the files", "model.layers.1.self_attn.k_norm.weight", lambda t: None),
            ("not in the files", "model.embed_tokens.weight", lambda t: None),
            ("not in the files", "model.norm.weight", lambda t: None),
            ("not in the files", "lm_head.weight", lambda t: None),
            ("another shape", "model.layers.0.self_attn.o_proj.weight", lambda t: (t[0], t[1][::-1], *t[2:])),
            ("another type", "model.layers.1.mlp.down_proj.weight", lambda t: (*t[:2], "F32", t[3])),
            ("another type", "lm_head.weight", lambda t: (*t[:2], "F32", t[3]))):
        write(folder, good, *rest, change=lambda t: change(t) if t[0] == name else t)
        refused(f"llama: {name}: {says}" if says == "not in the files" else says)
    write(folder, {**good, "model_type": "llama"}, *rest)
    refused("_norm.weight: is left over")  # that only Qwen 3 has
    for name in os.listdir(folder):
        if name.endswith(".safetensors"):
            os.remove(os.path.join(folder, name))
    refused("no model*.safetensors in it")
    os.remove(os.path.join(folder, "config.json"))
    refused("no folder with a config.json")
    check(run([*PROGRAM, folder, "0", "1"]).returncode == 2, "no tokens asked for")
finish()
