#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The layers of bench/nn.c in PyTorch, one thread, eager: the best of many runs, one line of JSON for each case.

usage: python3 nn.py [--repeat N] [CASE ...]
"""
import argparse
import json
import time

import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(1)
BATCH, CLASSES, WORDS = 64, 1000, 10000
CASES = {
    "layer_norm": (lambda: nn.LayerNorm(256), (BATCH, 128, 256)),
    "group_norm": (lambda: nn.GroupNorm(8, 64), (BATCH, 64, 32, 32)),
    "batch_norm2d": (lambda: nn.BatchNorm2d(64), (BATCH, 64, 32, 32)),
    "gelu": (nn.GELU, (BATCH, 128, 256)),
    "silu": (nn.SiLU, (BATCH, 128, 256)),
    "cross_entropy": (None, (BATCH * 32, CLASSES)),
    "embedding": (lambda: nn.Embedding(WORDS, 256), (BATCH, 128)),
    "avg_pool2d": (lambda: nn.AvgPool2d(2), (BATCH, 32, 32, 32)),
    "upsample": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (BATCH, 32, 16, 16)),
    "conv1d": (lambda: nn.Conv1d(64, 64, 3, padding=1), (BATCH, 64, 128)),
    "conv3d": (lambda: nn.Conv3d(16, 16, 3, padding=1), (8, 16, 8, 16, 16)),
    "conv_transpose2d": (lambda: nn.ConvTranspose2d(32, 32, 4, stride=2, padding=1), (BATCH, 32, 16, 16)),
}


def best_of(name, repeat):
    make, shape = CASES[name]
    if name == "embedding":
        x = torch.randint(0, WORDS, shape)
    else:
        x = torch.randn(shape, requires_grad=True)
    if make is None:
        target = torch.randint(0, CLASSES, shape[:1])
        run, grad, layer = lambda: nn.functional.cross_entropy(x, target), None, None
    else:
        layer = make()
        run, grad = lambda: layer(x), torch.randn_like(layer(x))
    best = float("inf")
    for _ in range(repeat + 2):
        begin = time.perf_counter()
        run().backward(grad)
        best = min(best, (time.perf_counter() - begin) * 1e3)
        x.grad = None
        if layer is not None:
            layer.zero_grad()
    return best


parser = argparse.ArgumentParser()
parser.add_argument("--repeat", type=int, default=20)
parser.add_argument("cases", nargs="*")
a = parser.parse_args()
for case in a.cases or CASES:
    print(json.dumps({"case": case, "ms": round(best_of(case, a.repeat), 3)}), flush=True)
