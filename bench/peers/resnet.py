#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The example resnet in PyTorch, in one process: a ResNet-18 of width 16 on images in a folder of IDX files.

usage: python3 resnet.py [--data FOLDER] [--epochs N] [--seed N] ..., the options of examples/resnet
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

from files import read_idx
from recipe import finish, one_cycle, parse, start

MEAN, STD, SIDE, PAD, SAMPLE = 0.286, 0.353, 28, 4, 16


def conv(channels, out, kernel, stride):
    return nn.Conv2d(channels, out, kernel, stride, kernel // 2, bias=False)


class BasicBlock(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        stride = 1 if channels == out else 2
        self.conv1, self.bn1 = conv(channels, out, 3, stride), nn.BatchNorm2d(out)
        self.conv2, self.bn2 = conv(out, out, 3, 1), nn.BatchNorm2d(out)
        self.downsample = None
        if channels != out:
            self.downsample = nn.Sequential(conv(channels, out, 1, stride), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
        return (y + (x if self.downsample is None else self.downsample(x))).relu()


class ResNet(nn.Module):
    def __init__(self, width=16, classes=10):
        super().__init__()
        self.conv1, self.bn1 = conv(1, width, 3, 1), nn.BatchNorm2d(width)
        channels = width
        for i in range(4):
            out = width << i
            setattr(self, f"layer{i + 1}", nn.Sequential(BasicBlock(channels, out), BasicBlock(out, out)))
            channels = out
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        x = self.bn1(self.conv1(x)).relu()
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def load(folder, part):
    images = torch.from_numpy(read_idx(f"{folder}/{part}-images-idx3-ubyte").copy())
    labels = torch.from_numpy(read_idx(f"{folder}/{part}-labels-idx1-ubyte").copy())
    images = ((images.to(torch.get_default_dtype()) / 255 - MEAN) / STD).unsqueeze(1)
    return images.to(o.device), labels.long().to(o.device)


def crop_and_flip(images):
    """images[n, 0, y, x] with random y and x, as in the example."""
    padded = F.pad(images, (PAD,) * 4, value=-MEAN / STD)
    pixels, shape = torch.arange(SIDE), (len(images), 1, 1)
    y = torch.randint(0, 2 * PAD + 1, shape) + pixels[:, None]
    x = torch.randint(0, 2 * PAD + 1, shape) + torch.where(torch.randint(0, 2, shape) > 0, pixels.flip(0), pixels)
    return padded[torch.arange(len(images))[:, None, None], 0, y, x].unsqueeze(1)


def accuracy(net, x, y):
    net.eval()
    with torch.no_grad():
        right = sum((net(a).argmax(1) == b).sum().item() for a, b in zip(x.split(1000), y.split(1000)))
    return right / len(y)


o = parse(__doc__, data="/usr/share/datasets/fashion-mnist", train=0, epochs=10, batch=128, lr=0.1, seed=1,
          double=False)
if o.double:
    torch.set_default_dtype(torch.float64)
images, labels = (x[: o.train or None] for x in load(o.data, "train"))
test = load(o.data, "t10k")
net = ResNet()
start(net, o)
sgd = torch.optim.SGD(net.parameters(), lr=o.lr, momentum=0.9, weight_decay=5e-4)
steps = len(images) // o.batch
schedule = one_cycle(sgd, o, o.epochs * steps)
for epoch in range(o.epochs):
    order = torch.arange(len(images)) if o.plain else torch.randperm(len(images))
    total = 0
    net.train()
    for rows in order[: steps * o.batch].split(o.batch):
        x = images[rows] if o.plain else crop_and_flip(images[rows])
        sgd.zero_grad()
        loss = F.cross_entropy(net(x), labels[rows])
        loss.backward()
        sgd.step()
        schedule.step()
        total += loss.item()
    print(f"epoch {epoch + 1}: loss {total / steps:.6f}, test accuracy {accuracy(net, *test):.4f}", flush=True)
finish(net, o, test[0][:SAMPLE], net)
