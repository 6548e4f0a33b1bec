# SPDX-License-Identifier: MIT
"""What the peers of the examples resnet, chars and series share: options, the start from a file, the files at the end."""
import argparse

import torch

from files import load_tensors, save_tensors


def parse(description, **defaults):
    """The options of an example, with these defaults; --plain, and the files that all of them take."""
    parser = argparse.ArgumentParser(description=description)
    for name, value in defaults.items():
        kind = {"action": "store_true"} if value is False else {"type": type(value), "default": value}
        parser.add_argument(f"--{name}", **kind)
    for name in ("load", "save", "outputs"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--plain", action="store_true", help="rows in order, without anything that is drawn")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.set_default_device(options.device)
    torch.manual_seed(options.seed)
    return options


def start(net, options):
    if options.load:
        net.load_state_dict(load_tensors(options.load))


def one_cycle(optimizer, options, steps, **settings):
    return torch.optim.lr_scheduler.OneCycleLR(optimizer, options.lr, total_steps=max(steps, 1), cycle_momentum=False,
                                               **settings)


def finish(net, options, inputs, outputs):
    """Writes the state, and the outputs for some inputs: `outputs` computes them."""
    if options.save:
        save_tensors(net.state_dict(), options.save)
    if options.outputs:
        net.eval()
        with torch.no_grad():
            save_tensors({"inputs": inputs, "outputs": outputs(inputs)}, options.outputs)
