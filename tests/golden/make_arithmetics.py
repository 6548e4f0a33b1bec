#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes arithmetics.h: what NumPy's functions of two operands give for every pair of some numbers.

usage: python3 make_arithmetics.py > arithmetics.h
"""
import math
import textwrap

import numpy as np

INTEGERS = {
    "int8": [-128, -127, -7, -1, 0, 1, 2, 7, 127],
    "uint8": [0, 1, 2, 7, 8, 63, 64, 200, 255],
    "int64": [-(2**63), -7, -1, 0, 1, 2, 7, 64, 2**63 - 1],
}
OF_INTEGERS = (
    "add subtract multiply floor_divide remainder fmod gcd lcm bitwise_and bitwise_or bitwise_xor"
    " left_shift right_shift"
).split()
FLOATS = [-math.inf, -7.5, -2.0, -0.0, 0.0, 0.375, 2.0, 7.5, math.inf, math.nan]
OF_FLOATS = "floor_divide remainder fmod power hypot copysign arctan2 logaddexp logaddexp2".split()


def integer(v):
    return "INT64_MIN" if v == -(2**63) else "INT64_MAX" if v == 2**63 - 1 else str(v)


def floating(v):
    if math.isnan(v):
        return "NAN"
    return ("-" if v < 0 else "") + "INFINITY" if math.isinf(v) else repr(v)


def listed(values, text):
    return "{" + ", ".join(text(v) for v in values) + "}"


def tables(kind, name, numbers, functions, text):
    x = np.array(numbers, dtype=name)
    print(f"static const {kind} golden_{name}[{len(x)}] = {listed(x.tolist(), text)};")
    print(f"static const {kind} golden_{name}_of[{len(functions)}][{len(x) ** 2}] = {{")
    for function in functions:
        y = getattr(np, function)(x[:, None], x).flatten().tolist()
        print(f"    /* {function} */")
        print(textwrap.fill(listed(y, text) + ",", 100, initial_indent="    ", subsequent_indent="     "))
    print("};")


np.seterr(all="ignore")
print("/* SPDX-License-Identifier: MIT\n *\n * Made by make_arithmetics.py. */")
print("#include <math.h>\n#include <stdint.h>\n")
print("/* clang-format off */")
for name, numbers in INTEGERS.items():
    tables("int64_t", name, numbers, OF_INTEGERS, integer)
tables("double", "float64", FLOATS, OF_FLOATS, floating)
print("/* clang-format on */")
