#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/schedules.h: learning rates of PyTorch's schedules, before the first and after
each of 25 epochs. usage: make_schedules.py >schedules.h      (needs python3-torch)"""
import torch
from torch.optim import lr_scheduler as s

EPOCHS = 25
CASES = [
    ("step", lambda o: [s.StepLR(o, 4, 0.3)]),
    ("multi_step", lambda o: [s.MultiStepLR(o, [3, 7, 7, 20], 0.3)]),
    ("exponential", lambda o: [s.ExponentialLR(o, 0.93)]),
    ("cosine", lambda o: [s.CosineAnnealingLR(o, 7, 0.01)]),
    ("cosine_one", lambda o: [s.CosineAnnealingLR(o, 1, 0.01)]),
    ("warm_up", lambda o: [s.LinearLR(o, 1 / 3, 1.0, 5)]),
    ("decay", lambda o: [s.LinearLR(o, 0.9, 0.1, 12)]),
    ("warm_up_cosine", lambda o: [s.LinearLR(o, 0.1, 1.0, 4), s.CosineAnnealingLR(o, 20, 0.0)]),
    ("plateau", lambda o: [s.ReduceLROnPlateau(o, patience=2)]),
    ("plateau_options", lambda o: [s.ReduceLROnPlateau(
        o, mode="max", factor=0.4, patience=1, threshold=0.05, threshold_mode="abs", cooldown=2,
        min_lr=0.02, eps=1e-3)]),
]


def metric(epoch):
    return (epoch * 7 % 5) / 8 + (epoch * 3 % 4) / 16


def rates(make):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.7)
    schedules = make(optimizer)
    seen = [optimizer.param_groups[0]["lr"]]
    for epoch in range(EPOCHS):
        optimizer.step()
        for schedule in schedules:
            if isinstance(schedule, s.ReduceLROnPlateau):
                schedule.step(metric(epoch))
            else:
                schedule.step()
        seen.append(optimizer.param_groups[0]["lr"])
    return seen


print("/* SPDX-License-Identifier: MIT */")
print(f"/* Made by tests/golden/make_schedules.py with PyTorch {torch.__version__}. */")
for name, make in CASES:
    values = rates(make)
    print(f"static const double golden_{name}[] = {{" + ", ".join(v.hex() for v in values) + "};")
