#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The example series in PyTorch, in one process: an LSTM that foretells the next number of a series.

usage: python3 series.py [--data FILE.csv] [--epochs N] [--seed N] ..., the options of examples/series
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

from recipe import finish, one_cycle, parse, start

COUNT, WINDOW, HIDDEN, OUTPUT_ROWS = 3000, 32, 32, 16


def mackey_glass(delay=170, every=60, first=100):
    """The series of the example, with the same operations in the same order."""
    past, series, x = [1.2] * delay, [], 1.2
    for i in range((first + COUNT) * every):
        late = past[i % delay]
        square = late * late
        fourth = square * square
        after = x + 0.1 * (0.2 * late / (1 + fourth * fourth * square) - 0.1 * x)
        past[i % delay] = x
        x = after
        if i % every == 0 and i >= first * every:
            series.append(x)
    return series


class Series(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(1, HIDDEN, batch_first=True), nn.Linear(HIDDEN, 1)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1]).squeeze(1)


def windows(starts):
    return series[starts[:, None] + torch.arange(WINDOW + 1)]


def foretell(rows):
    return net(rows[:, :WINDOW].unsqueeze(2))


def error_of(x, target):
    return scale * F.mse_loss(x, target).sqrt().item()


o = parse(__doc__, data="", epochs=20, batch=32, lr=0.01, seed=1)
if o.data:
    with open(o.data) as file:
        series = torch.tensor([float(line) for line in file], dtype=torch.float64)
else:
    series = torch.tensor(mackey_glass(), dtype=torch.float64)
count = len(series) - WINDOW
train = count * 4 // 5
mean, scale = series[: train + WINDOW].mean(), series[: train + WINDOW].std(correction=0).item()
series = ((series - mean) / scale).float()
test = windows(torch.arange(train, count))
net = Series()
start(net, o)
adam = torch.optim.Adam(net.parameters(), lr=o.lr)
steps = train // o.batch
schedule = one_cycle(adam, o, o.epochs * steps)
for epoch in range(o.epochs):
    order = torch.arange(train) if o.plain else torch.randperm(train)
    total = 0
    for starts in order[: steps * o.batch].split(o.batch):
        rows = windows(starts)
        adam.zero_grad()
        loss = F.mse_loss(foretell(rows), rows[:, -1])
        loss.backward()
        adam.step()
        schedule.step()
        total += loss.item()
    with torch.no_grad():
        error, naive = error_of(foretell(test), test[:, -1]), error_of(test[:, -2], test[:, -1])
    print(f"epoch {epoch + 1}: loss {total / steps:.6f}, error {error:.6f}, of the naive forecast {naive:.6f}", flush=True)
finish(net, o, windows(torch.arange(OUTPUT_ROWS)), foretell)
