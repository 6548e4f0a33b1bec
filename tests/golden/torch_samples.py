# SPDX-License-Identifier: MIT
"""Samples of PyTorch's own databases, with what PyTorch computes, as compressed text. A case is some lines of it:

    case NAME | error NAME              the function; after `error` PyTorch refuses the sample
    tensor KEY DTYPE FLAGS N SHAPE X    an operand of N axes and its values. FLAGS: b, axis 0 is the batch; g, it has a
                                        gradient; -, neither
    after KEY ERROR X                   its values after the call, if those differ
    grad KEY ERROR X                    its gradient
    numbers KEY N X, word KEY TEXT      settings
    result N SHAPE ERROR X              the result; its gradient is that of golden_cases.py
    end

ERROR is the largest error of PyTorch in float32.

Lines `left COUNT REASON` give the number of samples that are left out. Floating operands are numbers of float32.
"""
import collections
import gzip
import random

import numpy
import torch
from golden_cases import seed_of

DTYPES = {torch.bool: "bool", torch.uint8: "uint8", torch.int8: "int8", torch.int16: "int16", torch.int32: "int32"}
DTYPES |= {torch.int64: "int64", torch.float16: "float16", torch.bfloat16: "bfloat16", torch.float32: "float32"}
DTYPES |= {torch.float64: "float64"}

left = collections.Counter()
lines = []


class Unstored(Exception):
    """The sample has something that the file has no words for."""


def text(x, digits):
    """The elements of x."""
    return " ".join(f"{v:.{digits}g}" for v in x.detach().double().flatten().tolist())


def exact(x):
    """x with numbers of float32."""
    if not isinstance(x, torch.Tensor):
        return x
    if x.dtype not in DTYPES:
        raise Unstored(f"{str(x.dtype)[6:]} operands")
    if x.dtype == torch.float64:
        return x.detach().float().double().contiguous().requires_grad_(x.requires_grad)
    return x.detach().clone().contiguous()


def setting(key, value):
    if value is None:
        return []
    if isinstance(value, str):
        return [f"word {key} {value}"]
    if isinstance(value, torch.nn.Module):
        return [f"word {key} {type(value).__name__}"]
    values = value if isinstance(value, (tuple, list)) else [value]
    if not all(v is None or isinstance(v, (bool, int, float)) for v in values):
        raise Unstored(f"settings of type {type(values[0]).__name__}")
    numbers = ["nan" if v is None else repr(float(v)) for v in values]
    return [" ".join(["numbers", key, str(len(numbers)), *numbers])]


def operand(key, x, flags):
    return " ".join(["tensor", key, DTYPES[x.dtype], flags or "-", str(x.dim()), *map(str, x.shape), text(x, 17)])


def ran(arguments, call):
    """The results of a sample's call: its result, changed operands and gradients, by their lines' first words."""
    before = {k: x.detach().clone() for k, x in arguments.items() if isinstance(x, torch.Tensor)}
    y = call(arguments)
    y = y[0] if isinstance(y, tuple) else y
    if y.requires_grad:
        y.backward(seed_of(y.shape).to(y.dtype))
    found = {"result": y.detach()}
    for key, x in before.items():
        if not torch.equal(x, arguments[key].detach()):
            found[f"after {key}"] = arguments[key].detach()
        if arguments[key].grad is not None:
            found[f"grad {key}"] = arguments[key].grad
    return found


def single(x):
    """x in float32."""
    if not isinstance(x, torch.Tensor) or x.dtype != torch.float64:
        return exact(x)
    return x.detach().float().requires_grad_(x.requires_grad)


def largest(x):
    """The largest finite number in absolute value."""
    return x[x.isfinite()].abs().max().item() if x.isfinite().any() else 0


def thinned(samples, most):
    """At most `most` of the samples, drawn at random, so that options that take turns are not all left out."""
    kept = sorted(random.Random(1).sample(range(len(samples)), min(len(samples), most)))
    left[f"samples beyond {most} of one function"] += len(samples) - len(kept)
    return [samples[i] for i in kept]


def size_of(arguments):
    """The elements of all operands."""
    return sum(x.numel() for x in arguments.values() if isinstance(x, torch.Tensor))


def store(name, arguments, batch, call, most):
    """The lines of a case with a bounded number of elements: call takes the arguments, of which `batch` have a batch."""
    if size_of(arguments) > most:
        raise Unstored(f"operands of more than {most} elements")
    singles = ran({k: single(x) for k, x in arguments.items()}, call)
    before = {k: exact(x) for k, x in arguments.items()}
    results = ran(arguments, call)
    if results["result"].numel() > most:
        raise Unstored(f"results of more than {most} elements")
    found = [f"case {name}"]
    for key, x in before.items():
        if isinstance(x, torch.Tensor):
            flags = ("b" if key in batch else "") + ("g" if f"grad {key}" in results else "")
            found.append(operand(key, x, flags))
        else:
            found += setting(key, x)
    for words, x in results.items():
        shape = "".join(f" {n}" for n in [x.dim(), *x.shape]) if words == "result" else ""
        error = largest(singles[words].double() - x)
        found.append(f"{words}{shape} {error:.2g} {text(x, 15)}")
    return found + ["end"]


def refused(name, arguments):
    """The lines of a sample that PyTorch refuses."""
    found = [f"error {name}"]
    for key, x in arguments.items():
        found += [operand(key, x, "")] if isinstance(x, torch.Tensor) else setting(key, x)
    return found + ["end"]


def begin():
    torch.manual_seed(1)
    numpy.random.seed(1)
    random.seed(1)
    torch.set_num_threads(1)


def write(path):
    """Writes all lines, and prints the number of cases, and of those left out."""
    lines.extend(f"left {count} {why}" for why, count in sorted(left.items()))
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write("\n".join(lines + [""]).encode())
    for word in ("case", "error"):
        print(sum(line.startswith(f"{word} ") for line in lines), word)
    print("\n".join(line for line in lines if line.startswith("left ")))
