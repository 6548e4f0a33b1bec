#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/torch_losses.h: values and gradients of losses, as PyTorch has them. The first
number of a case is the reduction: 0 mean, 1 sum, 2 none, 3 batchmean.

usage: python3 tests/golden/make_torch_losses.py > tests/golden/torch_losses.h
"""
import torch
import torch.nn.functional as F

from golden_cases import GRAD, INDEX, SPLIT, Cases

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
cases = Cases()
MODES = ["mean", "sum", "none", "batchmean"]
BOTH = SPLIT + GRAD


def rounded(x):
    """Numbers that float32 has, too, and that take few digits."""
    return (x * 64).round() / 64


def normal(*shape):
    return rounded(torch.randn(shape))


def add(name, call, operands, *numbers, modes=(0, 1, 2)):
    """call(reduction, tensors...)."""
    for mode in modes:
        own = [(flags, x.clone()) for flags, x in operands]
        cases.add(name, lambda *xs: call(MODES[mode], *xs), own, mode, *numbers)


x, y, two = normal(5, 3), normal(5, 3), normal(4, 3, 2)
probabilities = rounded(torch.rand(5, 3) * 0.9 + 0.05)
probabilities[0, 0], probabilities[0, 1] = 0, 1
yes = torch.randint(0, 2, (5, 3)).double()
sign = 2 * yes - 1
zero = torch.zeros(5, 3)
weights = rounded(torch.rand(3) + 0.5)
FIX = SPLIT + "0"

add("mse", lambda r, a, b: F.mse_loss(a, b, reduction=r), [(BOTH, x), (BOTH, y)])
add("l1", lambda r, a, b: F.l1_loss(a, b, reduction=r), [(BOTH, x), (BOTH, y)])
for beta in (1, 0.25, 0):
    add("smooth_l1", lambda r, a, b: F.smooth_l1_loss(a, b, reduction=r, beta=beta), [(BOTH, x), (BOTH, y)], beta)
for delta in (1, 0.5):
    add("huber", lambda r, a, b: F.huber_loss(a, b, reduction=r, delta=delta), [(BOTH, x), (BOTH, y)], delta)

count = torch.tensor([[0, 1, 2], [3, 7, 0], [1, 5, 4], [2, 2, 0], [0, 0, 9]]).double()
for log_input in (1, 0):
    for full in (0, 1):
        add("poisson_nll",
            lambda r, a, b: F.poisson_nll_loss(a, b, log_input=bool(log_input), full=bool(full), reduction=r),
            [(BOTH, x if log_input else x.abs() + 0.25), (FIX, count)], log_input, full)
var = rounded(torch.rand(5, 3)) + 0.25
var[0, 0] = 0
for full in (0, 1):
    for v in (var, var[:, :1] + 0.5, var[:, 1] + 0.5):
        add("gaussian_nll", lambda r, a, b, c: F.gaussian_nll_loss(a, b, c, full=bool(full), eps=2**-7, reduction=r),
            [(BOTH, x), (BOTH, y), (BOTH, v)], full)
share = F.softmax(y, 1)
share[0, 0] = 0
for log_target in (0, 1):
    add("kl_div", lambda r, a, b: F.kl_div(a, b, reduction=r, log_target=bool(log_target)),
        [(BOTH, F.log_softmax(x, 1)), (BOTH if log_target else FIX, y if log_target else share)], log_target,
        modes=(0, 1, 2, 3))

add("bce", lambda r, a, b: F.binary_cross_entropy(a, b, reduction=r), [(BOTH, probabilities), (FIX, yes)])
add("bce", lambda r, a, b: F.binary_cross_entropy(a, b, reduction=r),
    [(BOTH, probabilities[1:]), (BOTH, rounded(torch.rand(4, 3)))])
add("bce", lambda r, a, b, w: F.binary_cross_entropy(a, b, w, reduction=r),
    [(BOTH, probabilities), (FIX, yes), ("0", weights)])
big = x.clone()
big[0, 0], big[0, 1], big[1, 0] = 800, -800, 40
add("bce_logits", lambda r, a, b: F.binary_cross_entropy_with_logits(a, b, reduction=r), [(BOTH, big), (BOTH, yes)])
add("bce_logits", lambda r, a, b, w: F.binary_cross_entropy_with_logits(a, b, w, reduction=r),
    [(BOTH, x), (BOTH, probabilities), ("0", weights)])
add("bce_logits", lambda r, a, b, w, p: F.binary_cross_entropy_with_logits(a, b, w, pos_weight=p, reduction=r),
    [(BOTH, big), (BOTH, yes), ("0", weights), ("0", weights.flip(0))])
add("soft_margin", lambda r, a, b: F.soft_margin_loss(a, b, reduction=r), [(BOTH, x), (FIX, sign)])
add("multilabel_soft_margin", lambda r, a, b: F.multilabel_soft_margin_loss(a, b, reduction=r),
    [(BOTH, x), (FIX, yes)])
add("multilabel_soft_margin", lambda r, a, b, w: F.multilabel_soft_margin_loss(a, b, w, reduction=r),
    [(BOTH, x), (FIX, yes), ("0", weights)])
for margin in (1, 0.25):
    for s in (sign, yes):
        add("hinge_embedding", lambda r, a, b: F.hinge_embedding_loss(a, b, margin, reduction=r),
            [(BOTH, x), (FIX, s)], margin)

index = torch.tensor([2, 0, -100, 1, 2])
grid = torch.tensor([[0, 2], [-100, 1], [1, 1], [2, -100]])
some = [(x, index), (two, grid), (normal(3), torch.tensor(1)), (normal(2, 3, 2, 2), torch.randint(0, 3, (2, 2, 2)))]
for a, b in some:
    flags = SPLIT if a.dim() > 1 else ""
    xs = [(flags + GRAD, F.log_softmax(a, min(1, a.dim() - 1))), (flags + INDEX, b)]
    add("nll", lambda r, a, b: F.nll_loss(a, b, reduction=r), xs, -100)
    add("nll", lambda r, a, b, w: F.nll_loss(a, b, w, reduction=r), xs + [("0", weights)], -100)
    add("nll", lambda r, a, b: F.nll_loss(a, b, ignore_index=1, reduction=r),
        [xs[0], (xs[1][0], b.clamp(min=1))], 1, modes=(1, 2))
    logits = [(flags + GRAD, a), (flags + INDEX, b)]
    for smoothing in (0, 0.25):
        add("cross_entropy", lambda r, a, b: F.cross_entropy(a, b, reduction=r, label_smoothing=smoothing), logits,
            -100, smoothing)
        add("cross_entropy",
            lambda r, a, b, w: F.cross_entropy(a, b, w, reduction=r, label_smoothing=smoothing),
            logits + [("0", weights)], -100, smoothing)
        spread = F.softmax(normal(*a.shape), min(1, a.dim() - 1))
        add("cross_entropy",
            lambda r, a, b, w: F.cross_entropy(a, b, w, reduction=r, label_smoothing=smoothing),
            [(flags + GRAD, a), (flags + GRAD, spread), ("0", weights)], -100, smoothing)
add("nll", lambda r, a, b: F.nll_loss(a, b, reduction=r), [(BOTH, x), (SPLIT + INDEX, torch.full((5,), -100))], -100)

classes = torch.tensor([2, 0, 1, 1, 2])
for p in (1, 2):
    for margin in (1, 0.5):
        add("multi_margin", lambda r, a, b: F.multi_margin_loss(a, b, p, margin, reduction=r),
            [(BOTH, x), (SPLIT + INDEX, classes)], p, margin)
    add("multi_margin", lambda r, a, b, w: F.multi_margin_loss(a, b, p, 1.0, w, reduction=r),
        [(BOTH, x), (SPLIT + INDEX, classes), ("0", weights)], p, 1)
labels = torch.tensor([[2, -1, 1], [0, 1, -1], [-1, 0, 0], [1, 0, 2], [2, 0, -1]])
add("multilabel_margin", lambda r, a, b: F.multilabel_margin_loss(a, b, reduction=r),
    [(BOTH, x), (SPLIT + INDEX, labels)])
add("multilabel_margin", lambda r, a, b: F.multilabel_margin_loss(a, b, reduction=r),
    [(GRAD, normal(4)), (INDEX, torch.tensor([3, 1, -1, 0]))])

row = torch.tensor([1, -1, 1, -1, -1]).double()
for margin in (0, 0.5):
    add("margin_ranking", lambda r, a, b, c: F.margin_ranking_loss(a, b, c, margin, reduction=r),
        [(BOTH, x), (BOTH, y), (FIX, sign)], margin)
    add("cosine_embedding", lambda r, a, b, c: F.cosine_embedding_loss(a, b, c, margin, reduction=r),
        [(BOTH, x), (BOTH, y), (FIX, row)], margin)
add("cosine_embedding", lambda r, a, b, c: F.cosine_embedding_loss(a, b, c, reduction=r),
    [(GRAD, normal(3)), (GRAD, normal(3)), ("0", torch.tensor(-1.0))], 0)
for p in (2, 1):
    for swap in (0, 1):
        add("triplet", lambda r, a, b, c: F.triplet_margin_loss(a, b, c, 0.75, p, swap=bool(swap), reduction=r),
            [(BOTH, x), (BOTH, y), (BOTH, normal(5, 3))], 0.75, p, swap)
for swap in (0, 1):
    add("triplet_distance",
        lambda r, a, b, c: F.triplet_margin_with_distance_loss(
            a, b, c, distance_function=lambda u, v: (u - v).abs().sum(-1), margin=0.75, swap=bool(swap), reduction=r),
        [(BOTH, x), (BOTH, y), (BOTH, normal(5, 3))], 0.75, swap)
cases.write("make_torch_losses.py", "torch_losses")
