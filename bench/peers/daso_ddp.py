#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/daso in PyTorch: DistributedDataParallel over gloo, the same network, batches and optimizer.

usage: mpirun -n P python3 daso_ddp.py [-e EPOCHS] [-s STEPS] [-i INTERFACE] [-r SEED] FOLDER

Each rank holds its part of the images in memory as float32, and a batch is one index_select. Prints the line of
bench/daso for each epoch.
"""
import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from mpi4py import MPI

from mnist import accuracy, load, train

BATCH = 64


def sent(interface, local_size):
    """MB that this rank has sent so far: its part of what its host has."""
    if not interface:
        return float("nan")
    with open(f"/sys/class/net/{interface}/statistics/tx_bytes") as file:
        return 1e-6 * int(file.read()) / local_size


def connect(comm, interface):
    if interface:
        os.environ["GLOO_SOCKET_IFNAME"] = interface
    os.environ["MASTER_ADDR"] = comm.bcast(os.uname().nodename if interface else "127.0.0.1")
    os.environ["MASTER_PORT"] = str(comm.bcast(20000 + os.getpid() % 20000))
    dist.init_process_group("gloo", rank=comm.rank, world_size=comm.size)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-e", dest="epochs", type=int, default=1)
    parser.add_argument("-s", dest="steps", type=int, help="of an epoch; by default all")
    parser.add_argument("-i", dest="interface", help="whose bytes are counted")
    parser.add_argument("-r", dest="seed", type=int, default=1)
    parser.add_argument("folder")
    o = parser.parse_args()
    interface = o.interface
    comm = MPI.COMM_WORLD
    local_size = comm.Split_type(MPI.COMM_TYPE_SHARED).size

    connect(comm, interface)
    torch.set_num_threads(1)
    torch.manual_seed(o.seed)
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 2048), nn.ReLU(), nn.Linear(2048, 1280), nn.ReLU(),
                        nn.Linear(1280, 10), nn.LogSoftmax(dim=1))
    model = nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.7)
    x, y = load(o.folder, "train", comm.rank, comm.size)
    test = load(o.folder, "t10k", 0, 1)
    torch.manual_seed(1000 * o.seed + comm.rank)

    for epoch in range(o.epochs):
        batches = torch.randperm(len(x)).split(BATCH)
        losses = []
        comm.Barrier()
        bytes_before, begin = sent(interface, local_size), time.perf_counter()
        for rows in batches[:o.steps]:
            losses.append(train(model, optimizer, x, y, rows).item())
        schedule.step()
        comm.Barrier()
        seconds = time.perf_counter() - begin
        megabytes = comm.allreduce(sent(interface, local_size) - bytes_before) / comm.size
        loss = comm.allreduce(sum(losses) / len(losses)) / comm.size
        if comm.rank == 0:
            print(f"ddp {epoch + 1} - {seconds:.3f} {megabytes:.1f} {loss:.4f} {accuracy(net, *test):.4f}", flush=True)
        comm.Barrier()


main()
