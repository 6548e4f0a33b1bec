#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The MNIST example's training step in PyTorch (DistributedDataParallel over gloo) or Heat.

usage: mpirun -n P python3 mnist.py ddp|heat-blocking|heat-nonblocking --data FOLDER [options]

The peers get their best case: the data are in memory as float32, a batch is one index_select, and only forward,
backward, gradient exchange and optimizer step are timed. Rank 0 prints one JSON line.

usage: python3 mnist.py ddp --data FOLDER --epochs 14 --batch-size 1024 --seed 1
trains in one process as the example does with its defaults on 16 ranks, and prints the test accuracy of each epoch.
"""
import argparse
import json
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from mpi4py import MPI

from files import read_idx


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 3), nn.Conv2d(32, 64, 3)
        self.dropout1, self.dropout2 = nn.Dropout2d(0.25), nn.Dropout(0.5)
        self.fc1, self.fc2 = nn.Linear(9216, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = self.dropout1(x).flatten(1)
        x = self.dropout2(F.relu(self.fc1(x)))
        return F.log_softmax(self.fc2(x), dim=1)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(784, 512), nn.Linear(512, 512), nn.Linear(512, 10)

    def forward(self, x):
        x = F.relu(self.fc2(F.relu(self.fc1(x.flatten(1)))))
        return F.log_softmax(self.fc3(x), dim=1)


def wrap(kind, net, comm):
    """The model and the optimizer as the peer's users set them up."""
    if kind == "ddp":
        import torch.distributed as dist

        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", str(comm.bcast(20000 + os.getpid() % 20000)))
        dist.init_process_group("gloo", rank=comm.rank, world_size=comm.size)
        model = nn.parallel.DistributedDataParallel(net) if comm.size > 1 else net
        return model, torch.optim.Adadelta(model.parameters(), lr=1.0)
    import heat as ht

    blocking = kind == "heat-blocking"
    optimizer = ht.optim.DataParallelOptimizer(torch.optim.Adadelta(net.parameters(), lr=1.0), blocking=blocking)
    model = ht.nn.DataParallel(net, comm=ht.MPI_WORLD, optimizer=optimizer, blocking_parameter_updates=blocking)
    return model, optimizer


def load(folder, part, rank, size):
    """Images and labels of one rank, as the example feeds them."""
    images = read_idx(f"{folder}/{part}-images-idx3-ubyte")[rank::size].copy()
    labels = read_idx(f"{folder}/{part}-labels-idx1-ubyte")[rank::size].copy()
    x = torch.from_numpy(images).float().div(255).sub(0.1307).div(0.3081).unsqueeze(1)
    return x, torch.from_numpy(labels).long()


def train(model, optimizer, x, y, rows):
    optimizer.zero_grad()
    loss = F.nll_loss(model(x.index_select(0, rows)), y.index_select(0, rows))
    loss.backward()
    optimizer.step()
    return loss


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        right = sum((model(a).argmax(1) == b).sum().item() for a, b in zip(x.split(1000), y.split(1000)))
    model.train()
    return right / len(y)


def run_epochs(options, model, optimizer, x, y):
    test = load(options.data, "t10k", 0, 1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.7)
    results = []
    for _ in range(options.epochs):
        for rows in torch.randperm(len(x)).split(options.batch_size):
            train(model, optimizer, x, y, rows)
        schedule.step()
        results.append(accuracy(model, *test))
    return {"seed": options.seed, "batch_size": options.batch_size, "accuracy": results}


def run_steps(options, model, optimizer, x, y, comm):
    order = torch.randperm(len(x))
    warm_up = max(3, options.steps // 6)
    for step in range(options.steps + warm_up):
        if step == warm_up:
            comm.Barrier()
            start = time.perf_counter()
        rows = order[torch.arange(step * options.batch_size, (step + 1) * options.batch_size) % len(x)]
        train(model, optimizer, x, y, rows)
    comm.Barrier()
    seconds = time.perf_counter() - start
    return {"samples_per_s": round(options.steps * options.batch_size * comm.size / seconds, 1)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", choices=["ddp", "heat-blocking", "heat-nonblocking"])
    parser.add_argument("--data", required=True)
    parser.add_argument("--net", choices=["cnn", "mlp"], default="cnn")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--epochs", type=int, default=0, help="train whole epochs in one process, for the accuracy")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()

    comm = MPI.COMM_WORLD
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    x, y = load(options.data, "train", comm.rank, comm.size)
    model, optimizer = wrap(options.peer, CNN() if options.net == "cnn" else MLP(), comm)
    model.train()
    if options.epochs > 0:
        result = run_epochs(options, model, optimizer, x, y)
    else:
        result = run_steps(options, model, optimizer, x, y, comm)
    if comm.rank == 0:
        print(json.dumps({"peer": options.peer, "torch": torch.__version__, **result}))


if __name__ == "__main__":
    main()
