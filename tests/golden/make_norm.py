#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes norm.h: what PyTorch's BatchNorm2d gives for x[i] = sin(i) + i / 50, in float64, three batches.

usage: python3 make_norm.py > norm.h
"""
import torch


def row(name, x):
    values = ", ".join(repr(v) for v in x.detach().flatten().tolist())
    print(f"static const double {name}[{x.numel()}] = {{{values}}};")


print("/* SPDX-License-Identifier: MIT\n *\n * Made by make_norm.py. */")
for name, momentum in ("golden_norm", 0.1), ("golden_norm_cumulative", None):
    layer = torch.nn.BatchNorm2d(3, momentum=momentum, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([0.5, 1.0, -2.0]))
        layer.bias.copy_(torch.tensor([0.0, 0.25, 1.0]))
    i = torch.arange(24, dtype=torch.float64)
    for batch in range(3):
        x = (torch.sin(i + batch) + i / 50).reshape(2, 3, 2, 2).requires_grad_(True)
        layer.zero_grad()
        y = layer(x)
        (y * torch.cos(i).reshape(2, 3, 2, 2)).sum().backward()
    row(name + "_y", y)
    row(name + "_dx", x.grad)
    row(name + "_dweight", layer.weight.grad)
    row(name + "_dbias", layer.bias.grad)
    row(name + "_mean", layer.running_mean)
    row(name + "_var", layer.running_var)
    layer.eval()
    row(name + "_eval", layer(x))
