# SPDX-License-Identifier: Apache-2.0
"""The example that reads a BERT of Hugging Face, on a small random one, against the same arithmetic in Python's floats.

usage: bert.py [EMULATOR] PROGRAM
"""
import math
import os
import random
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support"))
import tensors  # noqa: E402
from program import check, finish, run  # noqa: E402

PROGRAM = sys.argv[1:]  # with its emulator
WIDTH, HEADS, FFN, LAYERS, TOKENS, POSITIONS = 24, 3, 40, 2, 50, 9
EPS = 1e-12


def shapes(types=2):
    """The tensors of BertModel, as transformers names them."""
    yield "embeddings.word_embeddings.weight", (TOKENS, WIDTH)
    yield "embeddings.position_embeddings.weight", (POSITIONS, WIDTH)
    yield "embeddings.token_type_embeddings.weight", (types, WIDTH)
    yield from linear("embeddings.LayerNorm", WIDTH)
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}."
        for name in ("query", "key", "value"):
            yield from linear(f"{layer}attention.self.{name}", WIDTH, WIDTH)
        yield from linear(f"{layer}attention.output.dense", WIDTH, WIDTH)
        yield from linear(f"{layer}attention.output.LayerNorm", WIDTH)
        yield from linear(f"{layer}intermediate.dense", FFN, WIDTH)
        yield from linear(f"{layer}output.dense", WIDTH, FFN)
        yield from linear(f"{layer}output.LayerNorm", WIDTH)
    yield from linear("pooler.dense", WIDTH, WIDTH)


def linear(name, *shape):
    yield name + ".weight", shape
    yield name + ".bias", shape[:1]


def old(name):
    """A tensor's name in files of the first years, that of bert-base-uncased among them."""
    return name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")


def write(path, prefix, leave_out=None, types=2, numbers="F32", dtype="F32", own=(), named=str):
    """A random model, whose values are exact in `numbers`, as a file of dtype; the tensors `own` are F32."""
    rng = random.Random(7)
    values, stored = {}, []
    for name, shape in shapes(types):
        values[name] = [rng.randint(-512, 512) / 1024 for _ in range(math.prod(shape))]
        if name.endswith("LayerNorm.weight"):
            values[name] = [1 + v / 4 for v in values[name]]
        values[name] = tensors.rounded(values[name], numbers)
        if name != leave_out:
            stored.append((prefix + named(name), shape, "F32" if name in own else dtype, values[name]))
    tensors.write(path, stored)
    return values


def times(values, name, x):
    weight, bias = values[name + ".weight"], values[name + ".bias"]
    width = len(x[0])
    return [[sum(row[c] * weight[o * width + c] for c in range(width)) + bias[o] for o in range(len(bias))]
            for row in x]


def norm(values, name, x):
    result = []
    for row in x:
        mean = sum(row) / len(row)
        scale = 1 / math.sqrt(sum((v - mean) ** 2 for v in row) / len(row) + EPS)
        result.append([(v - mean) * scale * g + b
                       for v, g, b in zip(row, values[name + ".weight"], values[name + ".bias"])])
    return result


def attend(q, k, v):
    result = [[0.0] * WIDTH for _ in q]
    size = WIDTH // HEADS
    for first in range(0, WIDTH, size):
        columns = range(first, first + size)
        for i, row in enumerate(q):
            weights = [math.exp(sum(row[c] * key[c] for c in columns) / math.sqrt(size)) for key in k]
            for c in columns:
                result[i][c] = sum(w * value[c] for w, value in zip(weights, v)) / sum(weights)
    return result


def add(x, y):
    return [[a + b for a, b in zip(*rows)] for rows in zip(x, y)]


def embedding(values, ids):
    def row(name, i):
        return values[f"embeddings.{name}_embeddings.weight"][i * WIDTH:(i + 1) * WIDTH]

    x = [[sum(v) for v in zip(row("word", t), row("position", i), row("token_type", 0))] for i, t in enumerate(ids)]
    x = norm(values, "embeddings.LayerNorm", x)
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}."
        q, k, v = (times(values, f"{layer}attention.self.{name}", x) for name in ("query", "key", "value"))
        x = norm(values, layer + "attention.output.LayerNorm",
                 add(x, times(values, layer + "attention.output.dense", attend(q, k, v))))
        up = [[u * (1 + math.erf(u / math.sqrt(2))) / 2 for u in row]
              for row in times(values, layer + "intermediate.dense", x)]
        x = norm(values, layer + "output.LayerNorm", add(x, times(values, layer + "output.dense", up)))
    mean = [sum(column) for column in zip(*x)]
    length = math.sqrt(sum(v * v for v in mean))
    return [v / length for v in mean]


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.safetensors")
    sentences = [[1, 17, 2], [1, 49, 0, 33, 8, 21, 2], [5], [1, 17, 2, 2]]
    ids = " , ".join(" ".join(map(str, s)) for s in sentences).split()
    for prefix, dtype in (("", "F32"), ("bert.", "F32"), ("", "BF16"), ("bert.", "F16")):
        values = write(path, prefix, numbers=dtype, dtype=dtype)
        result = run([*PROGRAM, path, str(HEADS), *ids])
        check(result.returncode == 0, result)
        rows = [list(map(float, line.split())) for line in result.stdout.splitlines()]
        check(len(rows) == len(sentences), result.stdout)
        for sentence, row in zip(sentences, rows):
            far = max(abs(a - b) for a, b in zip(row, embedding(values, sentence)))
            check(len(row) == WIDTH and far < 2e-6, f"{sentence}: {far} apart")
        for own in ([name for name, shape in shapes()], [name for name, shape in shapes() if len(shape) == 1]):
            write(path, prefix, numbers=dtype, dtype=dtype, own=own)
            check(run([*PROGRAM, path, str(HEADS), *ids]).stdout == result.stdout, dtype, "and the same numbers in F32")
        write(path, prefix, numbers=dtype, dtype=dtype, named=old)
        check(run([*PROGRAM, path, str(HEADS), *ids]).stdout == result.stdout, dtype, "norms of gamma and beta")
        alone = run([*PROGRAM, path, str(HEADS), *map(str, sentences[0])]).stdout
        check(alone == result.stdout.splitlines(keepends=True)[0], "a sentence has the same bits alone and padded")

    def refused(says, *args):
        result = run([*PROGRAM, path, *args])
        check(result.returncode == 1 and says in result.stderr and result.stdout == "", result)

    for heads in ("5", "3x", "-3", " 3", "", "0", str(2**64 + 3)):
        refused(f"{heads}: not a number of heads", heads, "1")
    for token in (str(TOKENS), "1x", "-1", "+1", " 1", "", str(2**64 + 1)):
        refused(f"{token}: not the number of a token", "3", token)
    refused("more tokens than the model has positions", "3", *["1"] * (POSITIONS + 1))
    for name in ("encoder.layer.1.attention.self.key.bias", "embeddings.LayerNorm.weight"):
        write(path, "", leave_out=name)
        refused(f"bert: {name}: not in the file", "3", "1")
    write(path, "", dtype="BF16", own=["encoder.layer.0.output.dense.weight"])
    refused("encoder.layer.0.output.dense.weight: has another type than the embeddings", "3", "1")
    write(path, "", types=0)
    refused("is empty", "3", "1")
    open(path, "wb").close()
    refused("weights", "3", "1")
finish()
