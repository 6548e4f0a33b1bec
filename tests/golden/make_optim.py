#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/optim.h: parameters after 10 steps of PyTorch's optimizers in float64.
usage: make_optim.py >optim.h      (needs python3-torch)"""
import torch

torch.set_default_dtype(torch.float64)  # of the numbers in states: NAdam's product, ASGD's rate

STEPS, SIZE = 10, 7
CASES = [
    ("sgd_plain", torch.optim.SGD, dict(lr=0.1)),
    ("sgd_decay", torch.optim.SGD, dict(lr=0.1, weight_decay=0.01)),
    ("sgd_momentum", torch.optim.SGD, dict(lr=0.05, momentum=0.9, dampening=0.3, weight_decay=0.01)),
    ("sgd_nesterov", torch.optim.SGD, dict(lr=0.05, momentum=0.8, nesterov=True)),
    ("sgd_maximize", torch.optim.SGD, dict(lr=0.05, momentum=0.9, maximize=True)),
    ("adam_plain", torch.optim.Adam, dict(lr=0.01)),
    ("adam_options", torch.optim.Adam,
     dict(lr=0.02, betas=(0.8, 0.95), eps=1e-5, weight_decay=0.1, maximize=True)),
    ("adam_amsgrad", torch.optim.Adam,
     dict(lr=0.02, betas=(0.8, 0.6), weight_decay=0.1, amsgrad=True)),
    ("adadelta_plain", torch.optim.Adadelta, dict(lr=1.0)),
    ("adadelta_options", torch.optim.Adadelta, dict(lr=0.5, rho=0.8, eps=1e-4, weight_decay=0.05)),
    ("adamw_plain", torch.optim.AdamW, dict(lr=0.01)),
    ("adamw_options", torch.optim.AdamW,
     dict(lr=0.02, betas=(0.8, 0.95), eps=1e-5, weight_decay=0.1, maximize=True)),
    ("adamw_amsgrad", torch.optim.AdamW,
     dict(lr=0.02, betas=(0.8, 0.6), weight_decay=0.1, amsgrad=True, maximize=True)),
    ("rmsprop_plain", torch.optim.RMSprop, dict(lr=0.01)),
    ("rmsprop_momentum", torch.optim.RMSprop,
     dict(lr=0.02, alpha=0.9, eps=1e-5, weight_decay=0.05, momentum=0.8)),
    ("rmsprop_centered", torch.optim.RMSprop, dict(lr=0.01, alpha=0.8, eps=1e-4, centered=True)),
    ("rmsprop_options", torch.optim.RMSprop,
     dict(lr=0.02, alpha=0.9, eps=1e-5, weight_decay=0.05, momentum=0.8, centered=True,
          maximize=True)),
    ("adagrad_plain", torch.optim.Adagrad, dict(lr=0.1)),
    ("adagrad_options", torch.optim.Adagrad,
     dict(lr=0.2, lr_decay=0.1, weight_decay=0.05, initial_accumulator_value=0.5, eps=1e-5,
          maximize=True)),
    ("nadam_plain", torch.optim.NAdam, dict(lr=0.002)),
    ("nadam_options", torch.optim.NAdam,
     dict(lr=0.02, betas=(0.8, 0.95), eps=1e-5, weight_decay=0.1, momentum_decay=0.02,
          maximize=True)),
    ("nadam_decoupled", torch.optim.NAdam,
     dict(lr=0.02, weight_decay=0.1, decoupled_weight_decay=True)),
    ("radam_plain", torch.optim.RAdam, dict(lr=0.01)),
    ("radam_options", torch.optim.RAdam,
     dict(lr=0.02, betas=(0.8, 0.95), eps=1e-5, weight_decay=0.1, maximize=True)),
    ("radam_decoupled", torch.optim.RAdam,
     dict(lr=0.02, weight_decay=0.1, decoupled_weight_decay=True)),
    ("rprop_plain", torch.optim.Rprop, dict(lr=0.01)),
    ("rprop_options", torch.optim.Rprop,
     dict(lr=0.02, etas=(0.4, 1.5), step_sizes=(0.01, 0.05), maximize=True)),
    ("asgd_plain", torch.optim.ASGD, dict(lr=0.01)),
    ("asgd_options", torch.optim.ASGD,
     dict(lr=0.2, lambd=0.05, alpha=0.6, t0=3, weight_decay=0.1, maximize=True)),
    ("adafactor_vector", torch.optim.Adafactor, dict(lr=0.05)),
    ("adamax_plain", torch.optim.Adamax, dict(lr=0.01)),
    ("adamax_options", torch.optim.Adamax,
     dict(lr=0.02, betas=(0.8, 0.95), eps=1e-5, weight_decay=0.1, maximize=True)),
]
# With a gradient that is a matrix; SparseAdam's is without every third row.
MATRICES = [
    ("adafactor_matrix", torch.optim.Adafactor, (3, 5), dict(lr=0.05)),
    ("adafactor_options", torch.optim.Adafactor, (2, 3, 2),
     dict(lr=0.4, beta2_decay=-0.5, eps=(1e-4, 0.02), d=1.5, weight_decay=0.1, maximize=True)),
    ("muon_wide", torch.optim.Muon, (3, 5), dict(lr=0.02)),
    ("muon_tall", torch.optim.Muon, (5, 3), dict(lr=0.02)),
    ("muon_adamw", torch.optim.Muon, (5, 3),
     dict(lr=0.02, weight_decay=0, momentum=0.8, nesterov=False, ns_steps=3,
          adjust_lr_fn="match_rms_adamw")),
    ("muon_spectral", torch.optim.Muon, (3, 5),
     dict(lr=0.02, ns_coefficients=(1.5, -0.5, 0.1), adjust_lr_fn="spectral_unclamped")),
    ("sparse_adam_plain", torch.optim.SparseAdam, (4, 3), dict(lr=0.01)),
    ("sparse_adam_options", torch.optim.SparseAdam, (4, 3),
     dict(lr=0.02, betas=(0.8, 0.95), eps=1e-5, maximize=True)),
]


def train_matrix(make, shape, options):
    size = torch.Size(shape).numel()
    start = [(i * 3 % 7 - 3) / 4 for i in range(size)]
    p = torch.tensor(start, dtype=torch.float64).reshape(shape).requires_grad_()
    optimizer = make([p], **options)
    for step in range(STEPS):
        gradient = [((i * 7 + step * 5) % 11 - 5) / 8 for i in range(size)]
        p.grad = torch.tensor(gradient, dtype=torch.float64).reshape(shape)
        if make is torch.optim.SparseAdam:
            rows = torch.tensor([r for r in range(shape[0]) if (r + step) % 3 != 0])
            p.grad = torch.sparse_coo_tensor(rows[None], p.grad[rows], shape)
        optimizer.step()
    return p.flatten().tolist()


# Steps of L-BFGS on Rosenbrock's function of 4 variables.
LBFGS = [
    ("lbfgs_plain", 4, dict(lr=0.1, max_iter=5)),
    ("lbfgs_wolfe", 3, dict(line_search_fn="strong_wolfe")),
    ("lbfgs_short", 5, dict(max_iter=4, max_eval=6, history_size=2, line_search_fn="strong_wolfe")),
    ("lbfgs_tolerant", 9, dict(line_search_fn="strong_wolfe", tolerance_grad=1e-2,
                               tolerance_change=1e-3)),
    ("lbfgs_maximize", 3, dict(lr=0.5, line_search_fn="strong_wolfe", maximize=True)),
]


def train_lbfgs(steps, options):
    """The variables, the losses of all steps, and the number of evaluations."""
    a = torch.tensor([-1.2, 1, -0.5], requires_grad=True)
    b = torch.tensor([0.8], requires_grad=True)
    optimizer = torch.optim.LBFGS([a, b], **options)
    sign = -1 if options.get("maximize") else 1

    def closure():
        optimizer.zero_grad()
        p = torch.cat([a, b])
        loss = sign * (100 * (p[1:] - p[:-1] ** 2) ** 2 + (1 - p[:-1]) ** 2).sum()
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(steps)]
    return a.tolist() + b.tolist() + losses + [optimizer.state[a]["func_evals"]]


def train(make, options):
    start = [(i * 3 % 7 - 3) / 4 for i in range(SIZE)]
    p = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    optimizer = make([p], **options)
    for step in range(STEPS):
        gradient = [((i * 7 + step * 5) % 11 - 5) / 8 for i in range(SIZE)]
        p.grad = torch.tensor(gradient, dtype=torch.float64)
        optimizer.step()
    return p.tolist()


print("/* SPDX-License-Identifier: MIT */")
print(f"/* Made by tests/golden/make_optim.py with PyTorch {torch.__version__}. */")

def write(name, values):
    rows = [", ".join(float(v).hex() for v in values[i:i + 3]) for i in range(0, len(values), 3)]
    print(f"static const double golden_{name}[] = {{\n    " + ",\n    ".join(rows) + "};")


for name, make, options in CASES:
    write(name, train(make, options))
for name, make, shape, options in MATRICES:
    write(name, train_matrix(make, shape, options))
for name, steps, options in LBFGS:
    write(name, train_lbfgs(steps, options))
