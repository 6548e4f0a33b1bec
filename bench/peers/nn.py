#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The layers of bench/nn.c in PyTorch, one thread, eager: the best of many runs, one line of JSON for each case.

usage: python3 nn.py [--repeat N] [--device DEVICE] [CASE ...]
"""
import argparse
import json
import time

import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(1)
BATCH, CLASSES, WORDS = 64, 1000, 10000


class Attention(nn.Module):
    def forward(self, x):
        return nn.functional.scaled_dot_product_attention(x, x, x)


class LSTM(nn.LSTM):
    def forward(self, x):
        return super().forward(x)[0]


def conv_norm(channels, out, kernel, stride):
    return nn.Sequential(nn.Conv2d(channels, out, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(out))


class BasicBlock(nn.Module):
    def __init__(self, channels, out, stride):
        super().__init__()
        self.first, self.second = conv_norm(channels, out, 3, stride), conv_norm(out, out, 3, 1)
        self.shortcut = conv_norm(channels, out, 1, stride) if channels != out else nn.Identity()

    def forward(self, x):
        return (self.second(self.first(x).relu()) + self.shortcut(x)).relu()


def resnet18():
    layers, channels = [conv_norm(3, 64, 3, 1), nn.ReLU()], 64
    for out in (64, 128, 256, 512):
        layers += [BasicBlock(channels, out, 1 if channels == out else 2), BasicBlock(out, out, 1)]
        channels = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def transformer():
    layer = nn.TransformerEncoderLayer(256, 8, dim_feedforward=1024, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 4)


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
    "softmax": (lambda: nn.Softmax(-1), (BATCH * 32, CLASSES)),
    "attention_128": (Attention, (BATCH, 8, 128, 64)),
    "attention_1024": (Attention, (2, 8, 1024, 64)),
    "lstm": (lambda: LSTM(256, 256, batch_first=True), (BATCH, 64, 256)),
    "resnet18": (resnet18, (BATCH, 3, 32, 32)),
    "transformer": (transformer, (BATCH, 128, 256)),
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
        if a.device != "cpu":
            torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - begin) * 1e3)
        x.grad = None
        if layer is not None:
            layer.zero_grad()
    return best


parser = argparse.ArgumentParser()
parser.add_argument("--repeat", type=int, default=20)
parser.add_argument("--device", default="cpu")
parser.add_argument("cases", nargs="*")
a = parser.parse_args()
torch.set_default_device(a.device)
for case in a.cases or CASES:
    print(json.dumps({"case": case, "ms": round(best_of(case, a.repeat), 3)}), flush=True)
