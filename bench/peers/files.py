# SPDX-License-Identifier: MIT
"""Files that the peers read and write: images in the IDX format, and tensors in the safetensors format, without the
package of that name.
"""
import gzip
import json
import os
import struct

import numpy as np
import torch

DTYPES = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64}


def read_idx(path):
    opener = open if os.path.exists(path) else gzip.open
    with opener(path if opener is open else path + ".gz", "rb") as f:
        dims = struct.unpack(">I", f.read(4))[0] & 255
        shape = struct.unpack(">" + "I" * dims, f.read(4 * dims))
        return np.frombuffer(f.read(), dtype=np.uint8).reshape(shape)


def load_tensors(path):
    """The tensors of a safetensors file, by name."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = bytearray(file.read())
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensor = torch.frombuffer(data[begin:end], dtype=DTYPES[entry["dtype"]])
            tensors[name] = tensor.reshape(entry["shape"])
    return tensors


def save_tensors(tensors, path):
    """Writes tensors, by name, to a safetensors file."""
    names = {dtype: name for name, dtype in DTYPES.items()}
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in tensors.items():
        part = tensor.detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
