# SPDX-License-Identifier: MIT
"""Samples of the optimizers of PyTorch's optim_db: make_torch_optimizers.py tests/golden/torch_optimizers.gz.

A case is the parameter `input` after 3 steps, whose loss is sum(weight (input - target)^2). Needs PyTorch, and the
packages expecttest and hypothesis. torch_samples.py says what the file is.
"""
import sys

import torch
from torch.testing._internal.common_optimizers import optim_db
from torch_samples import Unstored, begin, exact, left, lines, refused, store, write

STEPS = 3
SHAPE = (5, 3)
OPERANDS = ("input", "target", "weight")


def operands():
    weight = torch.rand(SHAPE, dtype=torch.float64) + 0.1
    weight[1::3] = 0  # rows without gradients, which SparseAdam leaves alone
    return {"input": exact(torch.randn(SHAPE).double()), "target": exact(torch.randn(SHAPE).double()), "weight": exact(weight)}


def settings_of(kind, given):
    """The options of a sample, with its learning rate."""
    if any(isinstance(x, torch.Tensor) for x in given.values()):
        raise Unstored("options that are tensors")
    return {"lr": kind([torch.zeros(SHAPE)]).defaults["lr"]} | given


def called(kind, given):
    """The steps as a function of the operands."""

    def call(arguments):
        p = arguments["input"].clone().requires_grad_()
        optimizer = kind([p], **given)

        def closure():
            optimizer.zero_grad()
            loss = (arguments["weight"] * (p - arguments["target"]) ** 2).sum()
            loss.backward()
            if kind is torch.optim.SparseAdam:
                p.grad = p.grad.to_sparse(1)
            return loss

        for _ in range(STEPS):
            optimizer.step(closure)
        return p.detach()

    return call


def optimizers():
    for info in optim_db:
        kind, name = info.optim_cls, f"optim.{info.optim_cls.__name__}"
        for sample in info.optim_inputs_func(device="cpu"):
            try:
                arguments = operands() | settings_of(kind, sample.kwargs)
                lines.extend(store(name, arguments, OPERANDS, called(kind, sample.kwargs), 1000))
            except Unstored as why:
                left[str(why)] += 1
        for error in info.optim_error_inputs_func(device="cpu", dtype=torch.float64):
            try:
                given = error.optimizer_error_input.kwargs
                if not given:
                    raise Unstored("lists of parameters that PyTorch refuses")
                lines.extend(refused(name, operands() | settings_of(kind, given)))
            except Unstored as why:
                left[f"errors: {why}"] += 1


begin()
torch.set_default_dtype(torch.float64)  # of the numbers in states: NAdam's product, ASGD's rate
optimizers()
write(sys.argv[1])
