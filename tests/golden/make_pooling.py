#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes pooling.h: where PyTorch finds the maxima of windows, with many equal elements.

usage: python3 make_pooling.py > pooling.h
"""
import torch
import torch.nn.functional as F

torch.manual_seed(12)
rows = []


def array(name, x):
    values = ", ".join(f"{v:g}" for v in x.flatten().tolist())
    print(f"static const double {name}[] = {{{values}}};")


def three(values):
    values = list(values) if isinstance(values, tuple) else [values]
    return "{" + ", ".join(map(str, values)) + "}"


def record(kind, shape, x, y, indices, samples, **settings):
    i = len(rows)
    array(f"pooling_{i}_x", x)
    array(f"pooling_{i}_y", y)
    array(f"pooling_{i}_indices", indices)
    if samples is not None:
        array(f"pooling_{i}_samples", samples)
    fields = "".join(f", .{key} = {three(v) if key != 'ceil_mode' else str(v).lower()}" for key, v in settings.items())
    rows.append(f"    {{{len(shape)}, {three(shape)}, pooling_{i}_x, pooling_{i}_y, pooling_{i}_indices, "
                f"{f'pooling_{i}_samples' if samples is not None else 'NULL'}{fields}}},")


def numbers(shape):
    return torch.randint(-2, 3, shape, dtype=torch.float64)


def maxima(shape, kernel, stride, padding=0, dilation=1, ceil_mode=False):
    axes = len(shape) - 2
    kernel, stride, padding, dilation = (v if isinstance(v, tuple) else (v,) * axes
                                         for v in (kernel, stride, padding, dilation))
    x = numbers(shape)
    y, i = getattr(F, f"max_pool{axes}d")(x, kernel, stride, padding, dilation, ceil_mode, True)
    record("max", shape, x, y, i, None, kernel=kernel, stride=stride, padding=padding, dilation=dilation,
           ceil_mode=ceil_mode)


def fractional(shape, kernel, length):
    axes = len(shape) - 2
    x, samples = numbers(shape), torch.rand(*shape[:2], axes, dtype=torch.float64)
    samples = (samples * 64).floor() / 64  # few digits
    y, i = getattr(F, f"fractional_max_pool{axes}d")(x, kernel, length, return_indices=True, _random_samples=samples)
    record("fractional", shape, x, y, i, samples, kernel=kernel, length=length)


print("/* SPDX-License-Identifier: MIT\n *\n * Made by make_pooling.py with PyTorch", torch.__version__.split("+")[0] + ". */")
print("#include <stdbool.h>\n#include <stdint.h>\n\n/* clang-format off */")
maxima((3, 2, 7), 3, 2, 1)
maxima((3, 1, 8), 2, 3, 0, 2, True)
maxima((3, 2, 5, 6), (3, 2), (2, 1), (1, 1), (1, 2))
maxima((3, 2, 5, 6), 2, 2, 0, 1, True)
maxima((3, 1, 4, 6), (2, 3), (3, 2), (0, 1), 1, True)
maxima((3, 2, 3, 4, 5), 2, 2)
maxima((2, 1, 4, 5, 6), 3, 2, 1, 1, True)
maxima((2, 1, 5, 5, 6), (2, 2, 3), (2, 1, 2), (1, 0, 1), (1, 3, 1), True)
fractional((3, 2, 6, 7), (2, 3), (3, 4))
fractional((3, 2, 7, 5), (2, 2), (1, 4))
fractional((3, 1, 9, 6), (3, 2), (7, 3))
fractional((3, 2, 4, 5, 6), (2, 1, 3), (2, 4, 3))
fractional((2, 1, 5, 6, 7), (2, 3, 2), (3, 2, 5))

print("static const struct pooling_case {\n    int ndim;\n    int64_t shape[5];\n"
      "    const double *x, *y, *indices, *samples;\n"
      "    int64_t kernel[3], stride[3], padding[3], dilation[3], length[3];\n    bool ceil_mode;\n} pooling_cases[] = {")
print("\n".join(rows))
print("};")
