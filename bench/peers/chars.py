#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The example chars in PyTorch, in one process: a Transformer that learns to continue a text.

usage: python3 chars.py [--text FILE] [--steps N] [--seed N] ..., the options of examples/chars
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

from recipe import finish, one_cycle, parse, start

CHARACTERS, LENGTH, FEATURES, HEADS, LAYERS, OUTPUT_ROWS, LINES = 256, 128, 128, 4, 4, 2, 10


class Chars(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(CHARACTERS, FEATURES), nn.Embedding(LENGTH, FEATURES)
        layer = nn.TransformerEncoderLayer(FEATURES, HEADS, 4 * FEATURES, dropout, nn.GELU(), batch_first=True,
                                           norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(FEATURES), enable_nested_tensor=False)
        self.head = nn.Linear(FEATURES, CHARACTERS)

    def forward(self, x):
        length = x.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        x = self.tokens(x) + self.positions(torch.arange(length))
        return self.head(self.encoder(x, mask, is_causal=True))


def windows(text, starts):
    return text[starts[:, None] + torch.arange(LENGTH + 1)]


def loss_of(net, rows):
    return F.cross_entropy(net(rows[:, :-1]).reshape(-1, CHARACTERS), rows[:, 1:].reshape(-1))


def step_starts(length, step, o):
    if not o.plain:
        return torch.randint(0, length - LENGTH, (o.batch,))
    return torch.arange(step * o.batch, (step + 1) * o.batch) * LENGTH % (length - LENGTH)


def test(net, held_out):
    net.eval()
    with torch.no_grad():
        return loss_of(net, windows(held_out, torch.arange(0, len(held_out) - LENGTH, LENGTH))).item()


o = parse(__doc__, text="/usr/share/common-licenses/GPL-3", steps=500, batch=32, lr=0.002, dropout=0.1, seed=1)
with open(o.text, "rb") as file:
    characters = torch.tensor(list(file.read()))
text, held_out = characters.split([len(characters) - len(characters) // 10, len(characters) // 10])
net = Chars(o.dropout)
start(net, o)
adam = torch.optim.AdamW(net.parameters(), lr=o.lr)
schedule = one_cycle(adam, o, o.steps, pct_start=0.1)
for line in range(LINES if o.steps > 0 else 0):
    first, last = line * o.steps // LINES, (line + 1) * o.steps // LINES
    total = 0
    net.train()
    for step in range(first, last):
        adam.zero_grad()
        loss = loss_of(net, windows(text, step_starts(len(text), step, o)))
        loss.backward()
        adam.step()
        schedule.step()
        total += loss.item()
    print(f"step {last}: loss {total / max(last - first, 1):.6f}, held out {test(net, held_out):.6f}", flush=True)
finish(net, o, windows(held_out, torch.arange(OUTPUT_ROWS))[:, :-1], net)
