#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Decisions of Heat 1.8 on recorded loss curves: DASO.epoch_loss_logic and DetectMetricPlateau.

Writes daso.h. epoch_loss_logic runs on an object that has only the fields it uses, for DASO's
constructor needs GPUs. Needs heat and torch.
"""
import types

from heat.optim.dp_optimizer import DASO
from heat.optim.utils import DetectMetricPlateau


def falling(n, stalls):
    """A loss that halves, and stays where it is in the epochs of `stalls`."""
    losses, loss = [], 4.0
    for epoch in range(n):
        if epoch not in stalls:
            loss *= 0.75
        losses.append(loss)
    return losses


def row(total, warmup, cooldown, max_skips, reduction, local_factor, losses):
    daso = types.SimpleNamespace(
        epoch=0, warmup_epochs=warmup, cooldown_epochs=cooldown, total_epochs=total, max_gs=max_skips,
        global_skip=0, local_skip=0, batches_to_wait=0, skip_reduction_factor=reduction,
        local_skip_factor=local_factor, _gs8_waited=0, print0=lambda *a, **k: None,
        stability=DetectMetricPlateau(patience=2, threshold=0.05))
    out = []
    for loss in losses:
        daso.epoch += 1  # as step() does with the last batch
        DASO.epoch_loss_logic(daso, loss, loss_globally_averaged=True)
        out.append((daso.global_skip, daso.local_skip, daso.batches_to_wait))
    return out


def detector(mode, threshold_mode, patience, cooldown, threshold, metrics):
    d = DetectMetricPlateau(mode, patience, threshold, threshold_mode, cooldown)
    return [int(d.test_if_improving(m)) for m in metrics]


RUNS = [
    (30, 4, 4, 8, 2, 4, falling(30, range(6, 30))),
    (40, 2, 0, 16, 2, 4, falling(40, set(range(3, 20)) | set(range(25, 40)))),
    (24, 1, 3, 8, 2, 2, falling(24, range(24))),
    (12, 4, 8, 8, 2, 4, falling(12, range(12))),
]
WAVE = [5.0, 4.0, 4.0, 3.9, 4.5, 3.0, 3.0, 3.0, 3.0, 3.0, 2.0, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 1.0]
CURVES = [
    ("min", "rel", 2, 0, 0.05, WAVE),
    ("min", "abs", 1, 2, 0.25, WAVE),
    ("max", "rel", 2, 1, 0.05, [10 - m for m in WAVE]),
    ("max", "abs", 0, 3, 0.25, [10 - m for m in WAVE]),
    ("min", "rel", 1, 0, 0.05, [m - 6 for m in WAVE]),
]

with open("daso.h", "w") as f:
    f.write("/* SPDX-License-Identifier: MIT\n *\n"
            " * Made by make_daso.py with heat 1.8: what DASO decides after each epoch. */\n\n")
    f.write("enum { GOLDEN_DASO_EPOCHS = 40, GOLDEN_DETECTOR_VALUES = %d };\n\n" % len(WAVE))
    f.write("static const struct {\n    int total, warmup, cooldown, max_skips, reduction, "
            "local_factor;\n    double losses[GOLDEN_DASO_EPOCHS];\n"
            "    int skips[GOLDEN_DASO_EPOCHS][3]; /* global, local, wait */\n} golden_daso[] = {\n")
    for run in RUNS:
        f.write("    {%s,\n     {%s},\n     {%s}},\n" % (
            ", ".join(str(v) for v in run[:6]), ", ".join(repr(v) for v in run[6]),
            ", ".join("{%d, %d, %d}" % r for r in row(*run))))
    f.write("};\n\nstatic const struct {\n    bool maximize, absolute;\n    int patience, cooldown;\n"
            "    double threshold, values[GOLDEN_DETECTOR_VALUES];\n"
            "    bool plateau[GOLDEN_DETECTOR_VALUES];\n} golden_detector[] = {\n")
    for c in CURVES:
        f.write("    {%s, %s, %d, %d, %r,\n     {%s},\n     {%s}},\n" % (
            str(c[0] == "max").lower(), str(c[1] == "abs").lower(), c[2], c[3], c[4],
            ", ".join(repr(v) for v in c[5]), ", ".join(map(str, detector(*c)))))
    f.write("};\n")
