#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes parametrizations.h: what PyTorch gives for parametrized layers, and for AdaptiveLogSoftmaxWithLoss.

usage: python3 make_parametrizations.py > parametrizations.h

Numbers of inputs and parameters are those of numbers() here and in the tests. The gradients are those of the sum of
the squares of the output.
"""
import math

import torch
from torch import nn
from torch.nn.utils import parametrizations


def numbers(seed, shape):
    values = [0.5 * math.sin(12.9898 * (i + 1) + 78.233 * seed) + 0.4999 * math.sin(4.1414 * (i + 1) * (seed + 1))
              for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def array(name, x):
    values = ", ".join(repr(v) for v in x.detach().flatten().tolist())
    print(f"static const double {name}[] = {{{values}}};")


def fill(module):
    for i, p in enumerate(module.parameters()):
        p.data = numbers(i + 1, p.shape)


def case(name, layer, shape, parametrize, vectors=()):
    """vectors: the first buffers _u and _v, by their seeds."""
    layer = layer.double()
    fill(layer)
    parametrize(layer)
    p = layer.parametrizations.weight
    for i, (buffer, seed) in enumerate(zip(("_u", "_v"), vectors)):
        x = getattr(p[0], buffer)
        x.copy_(numbers(seed, x.shape))
    x = numbers(9, shape).requires_grad_()
    y = layer(x)
    (y * y).sum().backward()
    array(name + "_y", y)
    array(name + "_x", x.grad)
    for original in [n for n, _ in p.named_parameters(recurse=False)]:
        array(f"{name}_{original}", getattr(p, original).grad)
    for buffer, _ in zip(("_u", "_v"), vectors):
        array(name + buffer, getattr(p[0], buffer))
    layer.eval()
    array(name + "_weight", layer.weight)


print("/* SPDX-License-Identifier: MIT */")
print(f"/* Made by tests/golden/make_parametrizations.py with PyTorch {torch.__version__.split('+')[0]}. */")
print("/* clang-format off */")
case("norm_linear", nn.Linear(3, 4), (2, 3), lambda m: parametrizations.weight_norm(m))
case("norm_columns", nn.Linear(3, 4), (2, 3), lambda m: parametrizations.weight_norm(m, dim=1))
case("norm_all", nn.Linear(3, 4), (2, 3), lambda m: parametrizations.weight_norm(m, dim=None))
case("norm_conv", nn.Conv2d(2, 3, 2), (2, 2, 3, 3), lambda m: parametrizations.weight_norm(m))
case("spectral_linear", nn.Linear(3, 4), (2, 3), lambda m: parametrizations.spectral_norm(m), (5, 6))
case("spectral_conv", nn.Conv2d(2, 3, 2), (2, 2, 3, 3),
     lambda m: parametrizations.spectral_norm(m, n_power_iterations=3), (5, 6))
case("spectral_transposed", nn.ConvTranspose1d(2, 3, 2), (2, 2, 4), lambda m: parametrizations.spectral_norm(m),
     (5, 6))


def adaptive(name, cutoffs, **options):
    layer = nn.AdaptiveLogSoftmaxWithLoss(8, 10, cutoffs, **options).double()
    fill(layer)
    x = numbers(9, (6, 8)).requires_grad_()
    target = torch.tensor([0, 9, 3, 4, 1, 6])
    output, loss = layer(x, target)
    (loss + (output * output).sum()).backward()
    array(name + "_output", output)
    array(name + "_loss", loss)
    array(name + "_x", x.grad)
    for i, p in enumerate(layer.parameters()):
        array(f"{name}_{i}", p.grad)
    array(name + "_log_prob", layer.log_prob(x))
    array(name + "_predict", layer.predict(x))


adaptive("adaptive_two", [3, 6], div_value=2)
adaptive("adaptive_bias", [5], head_bias=True)


def orthogonal(name, layer, shape, orthogonal_map):
    layer = layer.double()
    fill(layer)
    torch.manual_seed(0)  # columns that complete a base
    parametrizations.orthogonal(layer, orthogonal_map=orthogonal_map)
    p = layer.parametrizations.weight
    start = layer.weight.detach()
    with torch.no_grad():
        p.original.copy_(numbers(7, p.original.shape)).fill_diagonal_(-1)
    x = numbers(9, shape).requires_grad_()
    y = layer(x)
    (y * y * numbers(8, y.shape)).sum().backward()
    array(name + "_start", start)
    array(name + "_base", p[0].base)
    array(name + "_set", p.original)
    array(name + "_y", y)
    array(name + "_original", p.original.grad)


for orthogonal_map in ("cayley", "householder", "matrix_exp"):
    orthogonal(f"{orthogonal_map}_square", nn.Linear(3, 3), (2, 3), orthogonal_map)
    orthogonal(f"{orthogonal_map}_tall", nn.Linear(3, 5), (2, 3), orthogonal_map)
    orthogonal(f"{orthogonal_map}_wide", nn.Linear(4, 2), (2, 4), orthogonal_map)
