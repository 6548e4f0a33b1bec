#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes recurrent.h: what PyTorch gives for recurrent networks with states, lengths and layers, in float64.

usage: python3 make_recurrent.py > recurrent.h

The numbers of operands are those of number_of in test_golden_recurrent.c: x, h_0, c_0, then the weights. Gradients are those
of sum(output^2) + 3 sum(h_n) + sum(c_n^2).
"""
import math

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

L, N, IN, HIDDEN = 4, 3, 2, 3
LENGTHS = [3, 1, 4]
rows = []


def operand(i, *shape):
    numbers = [0.5 * math.sin(12.9898 * (k + 1) + 78.233 * i) + 0.4999 * math.sin(4.1414 * (k + 1) * (i + 2))
               for k in range(math.prod(shape))]
    return torch.tensor(numbers, dtype=torch.float64).reshape(shape).requires_grad_()


def array(name, x):
    print(f"static const double {name}[] = {{{', '.join(repr(v) for v in x.detach().flatten().tolist())}}};")
    return name


def case(kind, layers=1, bias=True, batch_first=False, bidirectional=False, proj=0, relu=False, lengths=False, states=True):
    options = dict(num_layers=layers, bias=bias, batch_first=batch_first, bidirectional=bidirectional, dtype=torch.float64)
    options |= {"nonlinearity": "relu"} if relu else {}
    options |= {"proj_size": proj} if proj else {}
    net = getattr(torch.nn, kind)(IN, HIDDEN, **options)
    cells, out = layers * (2 if bidirectional else 1), proj or HIDDEN
    x = operand(0, N, L, IN) if batch_first else operand(0, L, N, IN)
    h, c = operand(1, cells, N, out), operand(2, cells, N, HIDDEN)
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(operand(3 + i, *p.shape))
    state = ((h, c) if kind == "LSTM" else h) if states else None
    if lengths:
        packed = pack_padded_sequence(x, torch.tensor(LENGTHS), batch_first, enforce_sorted=False)
        y, last = net(packed, state)
        y, _ = pad_packed_sequence(y, batch_first, total_length=L)
    else:
        y, last = net(x, state)
    h_n, c_n = last if kind == "LSTM" else (last, None)
    loss = (y * y).sum() + 3 * h_n.sum() + ((c_n * c_n).sum() if c_n is not None else 0)
    loss.backward()
    stem = f"recurrent_{len(rows)}"
    grads = torch.cat([p.grad.flatten() for p in net.parameters()])
    results = [array(stem + "_y", y), array(stem + "_h_n", h_n),
               array(stem + "_c_n", c_n) if c_n is not None else "NULL", array(stem + "_dx", x.grad),
               array(stem + "_dh", h.grad) if states else "NULL",
               array(stem + "_dc", c.grad) if states and kind == "LSTM" else "NULL", array(stem + "_dw", grads)]
    flags = [int(v) for v in (layers, bias, batch_first, bidirectional, proj, relu, lengths, states)]
    rows.append(f'    {{"{kind}", {", ".join(map(str, flags))}, {", ".join(results)}}},')


print("/* SPDX-License-Identifier: MIT\n *\n * Made by make_recurrent.py with PyTorch", torch.__version__.split("+")[0] + ". */")
print("/* clang-format off */")
for kind in "RNN", "LSTM", "GRU":
    case(kind)
    case(kind, states=False, batch_first=True)
    case(kind, layers=2, bidirectional=True)
    case(kind, layers=2, bias=False, lengths=True)
    case(kind, bidirectional=True, batch_first=True, lengths=True)
case("RNN", relu=True, layers=2, lengths=True)
case("LSTM", proj=2)
case("LSTM", proj=2, layers=2, bidirectional=True, lengths=True)
print("static const struct golden_recurrent {\n    const char *kind;\n"
      "    int layers, bias, batch_first, bidirectional, proj, relu, lengths, states;\n"
      "    const double *y, *h_n, *c_n, *dx, *dh, *dc, *dw;\n} golden_recurrent[] = {")
print("\n".join(rows))
print("};")
