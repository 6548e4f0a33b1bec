#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/torch_activations.h: values and gradients of activations, as PyTorch has them.

usage: python3 tests/golden/make_torch_activations.py > tests/golden/torch_activations.h
"""
import torch
import torch.nn.functional as F

from golden_cases import GRAD, SPLIT, Cases

NAN, INF = float("nan"), float("inf")
torch.manual_seed(0)
cases = Cases()

# Around the bounds that activations have by default, and on them.
REGULAR = torch.tensor([[-25, -3, -2.5], [-1, -0.75, -0.5], [0, 0.25, 0.5], [1, 2, 3], [5, 6, 21]])
SPECIAL = torch.tensor([[NAN], [INF], [-INF], [-0.0], [1e4], [-1e4]])
EMPTY = torch.zeros(0, 3)


def elementwise(name, call, *numbers):
    for x in (REGULAR, SPECIAL, EMPTY):
        cases.add(name, lambda x: call(x, *numbers), [(SPLIT + GRAD, x.clone())], *numbers)


cases.add("relu", F.relu, [(SPLIT + GRAD, REGULAR.clone())])
elementwise("relu6", F.relu6)
elementwise("leaky_relu", F.leaky_relu, 0.2)
elementwise("elu", F.elu, 1.5)
elementwise("celu", F.celu, 0.75)
elementwise("selu", F.selu)
elementwise("gelu", F.gelu)
elementwise("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"))
elementwise("silu", F.silu)
elementwise("mish", F.mish)
elementwise("sigmoid", torch.sigmoid)
elementwise("logsigmoid", F.logsigmoid)
elementwise("softplus", F.softplus, 1, 20)
elementwise("softplus", F.softplus, 0.5, 2)
elementwise("hardtanh", F.hardtanh, -1, 1)
elementwise("hardtanh", F.hardtanh, -0.5, 2)
# PyTorch's kernels of these two have 1 / 6 in float32 only.
elementwise("hardsigmoid", lambda x: F.relu6(x + 3) / 6)
elementwise("hardswish", lambda x: x * (F.relu6(x + 3) / 6))
elementwise("hardshrink", F.hardshrink, 0.5)
elementwise("softshrink", F.softshrink, 0.5)
elementwise("threshold", F.threshold, 0.25, -2)
elementwise("softsign", F.softsign)
elementwise("tanhshrink", F.tanhshrink)
elementwise("tanh", torch.tanh)
elementwise("rrelu_eval", F.rrelu, 0.125, 0.5)

cube = torch.randn(4, 6, 2) * 3
holes = cube.clone()
holes[0, :, 0] = torch.tensor([-INF, 0, 1, -INF, 2, 1e4])
holes[1, 0, 0] = NAN
holes[2, 1, 1] = INF
holes[3, :, 0] = -INF
for name, call in (("softmax", F.softmax), ("softmin", F.softmin), ("log_softmax", F.log_softmax)):
    for x in (cube, holes, torch.zeros(0, 3)):
        for axis in range(x.dim()):
            if x.shape[axis] > 0:
                cases.add(name, lambda x: call(x, dim=axis), [(SPLIT + GRAD, x.clone())], axis)
for axis in (0, 1, -1):
    cases.add("glu", lambda x: F.glu(x, axis), [(SPLIT + GRAD, cube.clone())], axis)
for weight in (torch.tensor([0.3]), torch.randn(6)):
    cases.add("prelu", F.prelu, [(SPLIT + GRAD, cube.clone()), (GRAD, weight)])
cases.add("prelu", F.prelu, [(SPLIT + GRAD, SPECIAL.clone()), (GRAD, torch.tensor([0.25]))])
for shape in ((2, 3, 2, 2), (3, 2, 2)):
    cases.add("softmax2d", torch.nn.Softmax2d(), [(SPLIT + GRAD, torch.randn(shape))])
cases.write("make_torch_activations.py", "torch_activations")
