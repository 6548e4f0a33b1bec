#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes ctc.h: losses of PyTorch's connectionist temporal classification and gradients of their sum, in float64.

usage: python3 make_ctc.py > ctc.h

The logits are those of number_of in test_golden_ctc.c. Targets are padded, or a list without the padding.
"""
import math

import torch
import torch.nn.functional as F

T, N, C, S = 6, 4, 4, 3
TARGETS = [[1, 1, 3], [3, 1, 3], [1, 3, 3], [3, 3, 1]]  # of classes other than 0 and 2
rows = []


def array(name, x):
    text = [{"nan": "NAN", "inf": "INFINITY"}.get(repr(v), repr(v)) for v in x.detach().flatten().tolist()]
    print(f"static const double {name}[] = {{{', '.join(text)}}};")
    return name


def case(input_lengths, target_lengths, blank=0, zero_infinity=False, listed=False):
    logits = [0.5 * math.sin(12.9898 * (k + 1)) + 0.4999 * math.sin(4.1414 * (k + 1) * 2) for k in range(T * N * C)]
    logits = torch.tensor(logits, dtype=torch.float64).reshape(T, N, C)
    targets = torch.tensor(TARGETS)
    if listed:
        targets = torch.cat([row[:n] for row, n in zip(targets, target_lengths)])
    for mode, reduction in enumerate(("mean", "sum", "none")):
        x = F.log_softmax(3 * logits, 2).requires_grad_()
        y = F.ctc_loss(x, targets, torch.tensor(input_lengths), torch.tensor(target_lengths), blank, reduction, zero_infinity)
        y.sum().backward()
        stem = f"ctc_{len(rows)}"
        lengths = [", ".join(map(str, n)) for n in (input_lengths, target_lengths)]
        rows.append(f"    {{{{{lengths[0]}}}, {{{lengths[1]}}}, {blank}, {int(zero_infinity)}, {int(listed)}, {mode}, "
                    f"{array(stem + '_y', y)}, {array(stem + '_dx', x.grad)}}},")


print("/* SPDX-License-Identifier: MIT\n *\n * Made by make_ctc.py with PyTorch", torch.__version__.split("+")[0] + ". */")
print("#include <math.h>\n#include <stdint.h>\n\n/* clang-format off */")
for listed in False, True:
    case([6, 5, 6, 4], [3, 2, 1, 3], listed=listed)
    case([6, 5, 6, 4], [3, 0, 1, 3], blank=2, listed=listed)
    for zero_infinity in False, True:
        case([3, 5, 2, 6], [3, 2, 3, 0], zero_infinity=zero_infinity, listed=listed)
        case([0, 1, 0, 6], [0, 1, 2, 1], zero_infinity=zero_infinity, listed=listed)
print("static const struct golden_ctc {\n    int64_t input_lengths[4], target_lengths[4];\n"
      "    int blank, zero_infinity, listed, mode;\n    const double *y, *dx;\n} golden_ctc[] = {")
print("\n".join(rows))
print("};")
