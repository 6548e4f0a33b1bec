#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/nn.h: results and gradients of layers as PyTorch computes them in float64.

usage: python3 tests/golden/make_nn.py > tests/golden/nn.h
"""
import torch
import torch.nn.functional as F

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)


def leaf(*shape):
    """Numbers of four digits, so that the file stays readable."""
    return (torch.randn(shape) * 1e4).round().div(1e4).requires_grad_()


def write(name, tensor):
    values = ", ".join(repr(v) for v in tensor.detach().reshape(-1).tolist())
    print(f"/* {tuple(tensor.shape)} */")
    print(f"static const double {name}[] = {{{values}}};")


def case(name, inputs, y):
    """The gradients are those of sum(y * dy)."""
    dy = leaf(*y.shape)
    grads = torch.autograd.grad((y * dy).sum(), list(inputs.values()))
    for key, x in inputs.items():
        write(f"{name}_{key}", x)
    write(f"{name}_y", y)
    write(f"{name}_dy", dy)
    for key, g in zip(inputs, grads):
        write(f"{name}_d{key}", g)


print("/* SPDX-License-Identifier: MIT */")
print("/* Made by tests/golden/make_nn.py with PyTorch", torch.__version__.split("+")[0] + ". */")
print("/* clang-format off */")

x, w, b = leaf(3, 4), leaf(2, 4), leaf(2)
case("linear", dict(x=x, w=w, b=b), F.linear(x, w, b))

x, w, b = leaf(2, 2, 4, 5), leaf(4, 1, 3, 2), leaf(4)
case("conv2d", dict(x=x, w=w, b=b),
     F.conv2d(x, w, b, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2))

x = leaf(2, 2, 5, 4)
case("max_pool2d", dict(x=x), F.max_pool2d(x, (3, 2), (2, 1), (1, 1), (1, 2)))

x = leaf(2, 3, 2)
case("log_softmax", dict(x=x), F.log_softmax(x, 1))

x, target = leaf(4, 3), torch.tensor([2, 0, 1, 2])
case("nll_mean", dict(x=x), F.nll_loss(x, target))
case("cross_entropy_mean", dict(x=x), F.cross_entropy(x, target))
case("cross_entropy_sum", dict(x=x), F.cross_entropy(x, target, reduction="sum"))
case("cross_entropy_none", dict(x=x), F.cross_entropy(x, target, reduction="none"))

x = leaf(2, 3, 2, 2)
case("leaky_relu", dict(x=x), F.leaky_relu(x, 0.2))
