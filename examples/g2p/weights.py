# SPDX-License-Identifier: Apache-2.0
"""Reading and writing safetensors files, and exporting the model as one."""
import json
import os
import struct

import torch

import data
from model import CONFIG, NORM_EPS, Transformer

DTYPES = {"F32": torch.float32, "I32": torch.int32, "U8": torch.uint8}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
MAX_SOURCE, MAX_TARGET = 64, 64


def write(path, tensors, metadata=None):
    """Write {name: tensor}; the data starts 64-byte aligned, without gaps."""
    header, blobs, start = {}, [], 0
    if metadata:
        header["__metadata__"] = metadata
    for name, tensor in tensors.items():
        blob = tensor.contiguous().numpy().tobytes()
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [start, start + len(blob)]}
        blobs.append(blob)
        start += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % 64)
    with open(path + ".new", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))
    os.replace(path + ".new", path)


def read(path):
    """Return ({name: tensor}, metadata)."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        body = bytearray(file.read())
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        flat = torch.frombuffer(body[start:end], dtype=DTYPES[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"])
    return tensors, metadata


def split_projections(state):
    """Split the fused qkv and kv projections into q, k and v."""
    tensors = {}
    for name, tensor in state.items():
        stem, part, kind = name.rsplit(".", 2) if name.count(".") > 1 else ("", name, "")
        if part in ("qkv", "kv"):
            for letter, block in zip(part, tensor.chunk(len(part))):
                tensors[f"{stem}.{letter}.{kind}"] = block
        else:
            tensors[name] = tensor
    return tensors


def join_projections(tensors):
    """The inverse of split_projections."""
    state = {}
    for name, tensor in tensors.items():
        stem, part, kind = name.rsplit(".", 2) if name.count(".") > 1 else ("", name, "")
        fused = "qkv" if stem.endswith("self_attention") else "kv"
        if "attention" in stem and part in fused:
            if part == fused[0]:
                blocks = [tensors[f"{stem}.{letter}.{kind}"] for letter in fused]
                state[f"{stem}.{fused}.{kind}"] = torch.cat(blocks)
        else:
            state[name] = tensor
    return state


def export(model, config, letters, phones, path):
    metadata = {"format": "pt", "fovea.model": "transformer"}
    metadata.update({f"fovea.{key}": str(value) for key, value in config.items()})
    metadata.update({
        "fovea.norm": "pre", "fovea.activation": "relu",
        "fovea.norm_eps": str(NORM_EPS), "fovea.positions": "sinusoidal",
        "fovea.embedding_scale": "sqrt", "fovea.pad": str(data.PAD),
        "fovea.bos": str(data.BOS), "fovea.eos": str(data.EOS),
        "fovea.source_vocab": " ".join(letters), "fovea.target_vocab": " ".join(phones),
        "fovea.max_source": str(MAX_SOURCE), "fovea.max_target": str(MAX_TARGET)})
    write(path, split_projections(model.state_dict()), metadata)


def load(path):
    """Return (model, letters, phones) of an exported file."""
    tensors, metadata = read(path)
    config = {key: int(metadata[f"fovea.{key}"]) for key in CONFIG}
    letters = metadata["fovea.source_vocab"].split(" ")
    phones = metadata["fovea.target_vocab"].split(" ")
    model = Transformer(len(letters), len(phones), config)
    model.load_state_dict(join_projections(tensors))
    return model.eval(), letters, phones
