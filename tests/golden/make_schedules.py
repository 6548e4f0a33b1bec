#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/schedules.h: learning rates of PyTorch's schedules, and momenta of those that
change it, before the first and after each of 25 epochs. usage: make_schedules.py >schedules.h      (needs python3-torch)"""
import torch
from torch.optim import lr_scheduler as s
from torch.optim.swa_utils import SWALR

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
    ("constant", lambda o: [s.ConstantLR(o, 0.3, 6)]),
    ("polynomial", lambda o: [s.PolynomialLR(o, 20, 2.0)]),
    ("lambda", lambda o: [s.LambdaLR(o, lambda e: 1 / (1 + e))]),
    ("multiplicative", lambda o: [s.MultiplicativeLR(o, lambda e: 1 - e / 64)]),
    ("restarts", lambda o: [s.CosineAnnealingWarmRestarts(o, 4, 2, 0.01)]),
    ("cyclic", lambda o: [s.CyclicLR(o, 0.1, 0.5, 4)]),
    ("cyclic2", lambda o: [s.CyclicLR(o, 0.1, 0.5, 3, 5, mode="triangular2")]),
    ("cyclic_exp", lambda o: [s.CyclicLR(o, 0.1, 0.5, 4, mode="exp_range", gamma=0.9,
                                         cycle_momentum=False)]),
    ("one_cycle", lambda o: [s.OneCycleLR(o, 0.5, total_steps=26)]),
    ("one_cycle_phases", lambda o: [s.OneCycleLR(
        o, 0.5, total_steps=26, pct_start=0.4, anneal_strategy="linear", base_momentum=0.7,
        max_momentum=0.8, div_factor=10, final_div_factor=100, three_phase=True)]),
    ("sequential", lambda o: [s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1.0, 4), s.CosineAnnealingWarmRestarts(o, 5), s.ConstantLR(o, 0.5, 3)],
        [5, 18])]),
    ("chained", lambda o: [s.ChainedScheduler([s.LinearLR(o, 0.1, 1.0, 4), s.ExponentialLR(o, 0.9)])]),
    ("swa", lambda o: [SWALR(o, 0.05, 8)]),
    ("swa_linear", lambda o: [SWALR(o, 0.9, 5, "linear")]),
    ("swa_at_once", lambda o: [SWALR(o, 0.05, 0)]),
    ("chain_in_sequence", lambda o: [s.SequentialLR(
        o, [s.ChainedScheduler([s.LinearLR(o, 0.1, 1.0, 4), s.ConstantLR(o, 0.3, 6)]),
            s.ConstantLR(o, 0.5, 3)], [9])]),
]


def metric(epoch):
    return (epoch * 7 % 5) / 8 + (epoch * 3 % 4) / 16


def rates(make):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.7)
    schedules = make(optimizer)
    group = optimizer.param_groups[0]
    seen = [(group["lr"], group["momentum"])]
    for epoch in range(EPOCHS):
        optimizer.step()
        for schedule in schedules:
            if isinstance(schedule, s.ReduceLROnPlateau):
                schedule.step(metric(epoch))
            else:
                schedule.step()
        seen.append((group["lr"], group["momentum"]))
    return zip(*seen)


print("/* SPDX-License-Identifier: MIT */")
print(f"/* Made by tests/golden/make_schedules.py with PyTorch {torch.__version__}. */")
for name, make in CASES:
    rate, momentum = rates(make)
    for what, values in (name, rate), (name + "_momentum", momentum):
        if any(values):
            text = ", ".join(float(v).hex() for v in values)
            print(f"static const double golden_{what}[] = {{{text}}};")
