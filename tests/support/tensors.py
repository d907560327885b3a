# SPDX-License-Identifier: Apache-2.0
"""Models of made-up numbers as safetensors files, for programs that read those of Hugging Face."""
import json
import struct


def packed(values, dtype):
    """The bytes of numbers; BF16 is the upper half of F32, here cut off."""
    data = struct.pack(f"<{len(values)}{'e' if dtype == 'F16' else 'f'}", *values)
    return b"".join(data[i + 2:i + 4] for i in range(0, len(data), 4)) if dtype == "BF16" else data


def rounded(values, dtype):
    """What a file of dtype holds of these numbers."""
    data = packed(values, dtype)
    if dtype == "BF16":
        data = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))
    return list(struct.unpack(f"<{len(values)}{'e' if dtype == 'F16' else 'f'}", data))


def write(path, tensors):
    """tensors: (name, shape, dtype, values) of each."""
    header, blob = {"__metadata__": {"format": "pt"}}, b""
    for name, shape, dtype, values in tensors:
        begin = len(blob)
        blob += packed(values, dtype)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, len(blob)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + blob)
