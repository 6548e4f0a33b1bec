#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/momentum.h: parameters after each of 12 steps of PyTorch in float64, while a schedule moves the momentum
to 0 and back.
usage: make_momentum.py >momentum.h      (needs python3-torch)"""
import torch
from torch.optim.lr_scheduler import CyclicLR, OneCycleLR

STEPS = 12


def cyclic(base, top):
    return lambda o: CyclicLR(o, 0.01, 0.05, 2, base_momentum=base, max_momentum=top)


def one_cycle(o):
    return OneCycleLR(o, 0.05, total_steps=14, pct_start=0.5, anneal_strategy="linear", base_momentum=0)


CASES = [
    ("sgd", torch.optim.SGD, dict(momentum=0.9, dampening=0.3), cyclic(0, 0.9)),
    ("nesterov", torch.optim.SGD, dict(momentum=0.9, nesterov=True), cyclic(0, 0.9)),
    ("late", torch.optim.SGD, dict(dampening=0.5), cyclic(0.9, 0)),
    ("one_cycle", torch.optim.SGD, dict(momentum=0.9, weight_decay=0.1), one_cycle),
    ("rmsprop", torch.optim.RMSprop, dict(momentum=0.9, eps=1e-4), cyclic(0, 0.9)),
    ("centered", torch.optim.RMSprop, dict(momentum=0.9, eps=1e-2, centered=True), cyclic(0, 0.9)),
    ("adam", torch.optim.Adam, dict(eps=1e-4), cyclic(0, 0.9)),
]


def train(make, options, schedule):
    p = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
    optimizer = make([p], lr=0.01, **options)
    scheduler = schedule(optimizer)
    seen = []
    for step in range(STEPS):
        p.grad = p.detach() * (1 + step % 3) - 0.5
        optimizer.step()
        scheduler.step()
        seen += p.tolist()
    return seen


print("/* SPDX-License-Identifier: MIT */")
print(f"/* Made by tests/golden/make_momentum.py with PyTorch {torch.__version__}. */")
for name, make, options, schedule in CASES:
    text = ", ".join(v.hex() for v in train(make, options, schedule))
    print(f"static const double golden_{name}[] = {{{text}}};")
