#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/param_groups.h: two parameters in groups of their own under a schedule, after 10
steps of PyTorch's optimizers in float64: both parameters, then both learning rates.
usage: make_param_groups.py >param_groups.h      (needs python3-torch)"""
import torch
from torch.optim import lr_scheduler as s

STEPS, SIZE = 10, 7
CASES = [
    ("sgd_exponential", torch.optim.SGD,
     dict(lr=0.1, momentum=0.9, weight_decay=0.01), dict(lr=0.05, momentum=0),
     lambda o: s.ExponentialLR(o, 0.9)),
    ("adam_cosine", torch.optim.Adam,
     dict(lr=0.02), dict(lr=0.01, betas=(0.8, 0.95), weight_decay=0.1),
     lambda o: s.CosineAnnealingLR(o, 4, 0.001)),
    ("rmsprop_warm_up", torch.optim.RMSprop,
     dict(lr=0.01, eps=1e-4, centered=True), dict(lr=0.02, centered=False, momentum=0.8),
     lambda o: s.LinearLR(o, 0.25, 1.0, 5)),
]


def train(make, first, second, schedule):
    start = [(i * 3 % 7 - 3) / 4 for i in range(SIZE)]
    p = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    q = torch.tensor(start[::-1], dtype=torch.float64, requires_grad=True)
    optimizer = make([p], **first)
    optimizer.add_param_group({"params": [q], **second})
    scheduler = schedule(optimizer)
    for step in range(STEPS):
        gradient = [((i * 7 + step * 5) % 11 - 5) / 8 for i in range(SIZE)]
        p.grad = torch.tensor(gradient, dtype=torch.float64)
        q.grad = torch.tensor(gradient, dtype=torch.float64) / 2
        optimizer.step()
        scheduler.step()
    return p.tolist() + q.tolist() + [g["lr"] for g in optimizer.param_groups]


print("/* SPDX-License-Identifier: MIT */")
print(f"/* Made by tests/golden/make_param_groups.py with PyTorch {torch.__version__}. */")
for name, *case in CASES:
    values = train(*case)
    rows = [", ".join(float(v).hex() for v in values[i:i + 4]) for i in range(0, len(values), 4)]
    print(f"static const double golden_{name}[] = {{\n    " + ",\n    ".join(rows) + "};")
