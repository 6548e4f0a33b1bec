#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes safetensors.h: the bytes of a file that PyTorch and the package safetensors made, with all dtypes that the
format shares with libht, and more.

usage: python3 make_safetensors.py > safetensors.h
"""
import torch
from safetensors.torch import save

DTYPES = "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64".split()
tensors = {}
for name in DTYPES:
    numbers = torch.arange(6)
    if not name.startswith(("u", "b")) or name == "bfloat16":
        numbers = numbers - 2
    dtype = getattr(torch, name)
    x = (numbers % 2 == 1) if name == "bool" else (numbers + 1j * (numbers - 1) if name == "complex64" else numbers)
    tensors[f"x.{name}"] = x.to(dtype).reshape(2, 3)
tensors["scalar"] = torch.tensor(2.5, dtype=torch.float64)
tensors["empty"] = torch.zeros(0, 4)
tensors["small"] = torch.ones(2).to(torch.float8_e4m3fn)
tensors['a "name" \\ \t \u00e9 \U0001f600 /'] = torch.tensor([7.0])
data = save(tensors, metadata={"format": "pt", 'k"\\\n': "v\u00e4lue \U0001f600 \u0001"})

print("/* SPDX-License-Identifier: MIT\n *\n * Made by make_safetensors.py. */\n/* clang-format off */")
print("static const unsigned char golden_safetensors[] = {")
for i in range(0, len(data), 20):
    print("    " + " ".join(f"{b}," for b in data[i:i + 20]))
print("};")
