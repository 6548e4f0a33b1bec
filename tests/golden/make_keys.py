#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes keys.h: which elements of x = arange(60).reshape(4, 5, 3) NumPy's x[key] has, in order, for
keys with lists of integers and masks in them. test_getitem_rows.c reads the same texts.

usage: python3 make_keys.py > keys.h
"""
import textwrap

import numpy as np

T, F = True, False
KEYS = [
    "[2]",
    "[3, 0, -1, 3]",
    "[[0, 1], [2, -4], [3, 3]]",
    "[]",
    ":, [4, 4, 0, -5]",
    ":, [[0, 1, 2], [4, 3, 2]]",
    "..., [2, 0]",
    "[3, 0, 1], [4, 0, 2]",
    "[3, 0, 1], [4, 0, 2], [0, 1, -1]",
    "[[3], [1]], [4, 0, 2]",
    "[3, 0, 1], :, [2, 1, 0]",
    "[3, 0, 1], 2",
    "2, [3, 0, 1]",
    "[3, 1], :, 2",
    "2, :, [2, 0, 0]",
    "-1, [3, 0, 1], [2, 1, 0]",
    "1:, [3, 0, 1]",
    "::-1, [3, 0, 1]",
    "[3, 0], ::-2",
    "::2, [3, 0], ::-1",
    "None, [3, 0], None, 1:3",
    "[3, 0], None, [1, 2]",
    "..., None, [1, 2, 2], 0",
    "[T, F, F, T]",
    "[F, F, F, F]",
    ":, [T, F, T, T, F]",
    "..., [F, T, T]",
    "[T, F, T, T], 1",
    "1, [T, F, T, T, F]",
    "[T, F, F, T], [1, 2]",
    "[T, F, F, T], :, [1, 2]",
    "[T, F, T, T], ::-1",
    "[[T, F, F, F, T], [F, F, F, F, F], [F, T, T, T, F], [F, F, F, F, T]]",
    ":, [[T, F, F], [F, T, T], [F, F, F], [F, F, T], [T, T, F]]",
    "2, [[T, F, F], [F, T, T], [F, F, F], [F, F, T], [T, T, F]]",
    "[1, 0, 3], [[T, F, F], [F, T, F], [F, F, F], [F, F, T], [F, F, F]]",
]


def main():
    x = np.arange(60).reshape(4, 5, 3)
    print("/* SPDX-License-Identifier: MIT\n *\n * Made by make_keys.py. */")
    print("/* clang-format off */")
    print("static const golden_key golden_keys[] = {")
    for text in KEYS:
        key = eval(f"np.s_[{text}]")
        key = key if isinstance(key, tuple) else (key,)
        y = x[tuple(np.array(k, dtype=None if k else int) if isinstance(k, list) else k for k in key)]
        shape = ", ".join(str(n) for n in y.shape)
        line = f'{{"{text}", {y.ndim}, {{{shape}}}, {{{", ".join(str(v) for v in y.ravel()) or 0}}}}},'
        print(textwrap.fill(line, 98, initial_indent="    ", subsequent_indent="     ",
                            break_long_words=False))
    print("};\n/* clang-format on */")


main()
