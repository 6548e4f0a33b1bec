#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/activations.h: activations and their derivatives by their formulas, computed
with 50 digits and rounded to float64. PyTorch computes the same functions.

usage: python3 tests/golden/make_activations.py > tests/golden/activations.h
"""
import mpmath

mpmath.mp.dps = 50
X = [-30, -8.25, -3, -1.5, -0.75, -1e-3, 0, 1e-3, 0.5, 1, 2.25, 7, 40]
FUNCTIONS = {
    "gelu": lambda x: x * mpmath.ncdf(x),
    "silu": lambda x: x / (1 + mpmath.exp(-x)),
}


def write(name, values):
    print(f"static const double {name}[] = {{{', '.join(repr(float(v)) for v in values)}}};")


print("/* SPDX-License-Identifier: MIT */")
print("/* Made by tests/golden/make_activations.py. */")
print("/* clang-format off */")
write("activation_x", X)
for name, f in FUNCTIONS.items():
    write(f"{name}_y", [f(mpmath.mpf(x)) for x in X])
    write(f"{name}_dx", [mpmath.diff(f, mpmath.mpf(x)) for x in X])
