#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/power_sgd.h: what PyTorch's powerSGD_hook makes of the gradients of two processes,
at rank 2, in float64, over some steps with error feedback and warm start. Q begins as libht draws it:
ht__random_fill(normal, seed 0, draw 2 << 32). usage: make_power_sgd.py >power_sgd.h      (needs PyTorch 2 with gloo)"""
import math
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power
from torch.nn.parallel import DistributedDataParallel

ROWS, COLUMNS, RANK, STEPS = 9, 12, 2, 6
Q = [
    "-0x1.d59613705be0ep-1", "-0x1.cb08949fa4938p-2", "0x1.18319c5ccb27p-2", "-0x1.11bcefdfb4a19p-2",
    "0x1.4428371935472p-2", "-0x1.a41d1f3be2f3ap-1", "0x1.75c9233a8da3cp-2", "0x1.aa67c8d98851bp+0",
    "0x1.021ec15ea68ebp-3", "-0x1.30a80d6d27e97p+0", "-0x1.a723f54932ce5p-3", "0x1.3a99a398d0c8ap+0",
    "-0x1.8bae6d50d29f7p+0", "-0x1.da9787545a2a8p-1", "0x1.91eb72146ba17p+0", "0x1.006df77febe46p-3",
    "-0x1.7f6f283409b6bp-1", "-0x1.08d723f4df161p-1", "-0x1.6f8a732b6e5bbp-3", "-0x1.f1f977617328fp-3",
    "-0x1.78ca8a4d5fb6ap-1", "-0x1.d76376accc2afp+0", "0x1.333273fdc4c2cp+0", "-0x1.ec931aa202853p-3"
]


def gradient(step, rank):
    which = 10 * step + rank
    values = [math.sin(1.3 * i + 0.01 * i * i + 0.9 * which) for i in range(ROWS * COLUMNS)]
    return torch.tensor(values, dtype=torch.float64).view(ROWS, COLUMNS)


def work(rank, path):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29533")
    dist.init_process_group("gloo", rank=rank, world_size=2)
    net = torch.nn.Linear(COLUMNS, ROWS, bias=False).double()
    state = power.PowerSGDState(None, matrix_approximation_rank=RANK, start_powerSGD_iter=2,
                                min_compression_rate=1)
    ddp = DistributedDataParallel(net)
    ddp.register_comm_hook(state, power.powerSGD_hook)
    power.torch.randn = lambda *shape, **options: torch.tensor(
        [float.fromhex(q) for q in Q], dtype=torch.float64).view(*shape)
    rows = []
    for step in range(2 + STEPS):
        net.zero_grad()
        torch.diagonal(ddp(gradient(step, rank))).sum().backward()
        if step >= 2:
            rows.append(net.weight.grad.flatten().tolist())
    if rank == 0:
        torch.save(rows, path)
    dist.destroy_process_group()


if __name__ == "__main__":
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"power_sgd.{os.getpid()}")
    mp.spawn(work, args=(path,), nprocs=2)
    print("/* SPDX-License-Identifier: MIT */")
    print(f"/* Made by tests/golden/make_power_sgd.py with PyTorch {torch.__version__}. */")
    print(f"static const double golden_power_sgd[{STEPS}][{ROWS * COLUMNS}] = {{")
    for row in torch.load(path):
        print("{" + ", ".join(float(v).hex() for v in row) + "},")
    print("};")
    os.unlink(path)
