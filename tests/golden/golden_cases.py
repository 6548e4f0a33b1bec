# SPDX-License-Identifier: MIT
"""Golden cases of differentiable functions: what PyTorch computes, as a table in C (golden_case.h)."""
import torch

GRAD, FIXED, INDEX = "GOLDEN_GRAD", "0", "GOLDEN_INDEX"  # flags of operands
SPLIT = "GOLDEN_SPLIT | "  # in front: it may be split along axis 0


def seed_of(shape):
    """The gradient of the result: golden_case.c computes the same."""
    n = torch.tensor(shape).prod().long().item() if shape else 1
    return ((torch.arange(n) * 7 % 5 - 2) * 0.5 + 0.25).double().reshape(shape)


class Cases:
    def __init__(self):
        self.arrays, self.rows = {}, []  # names by the text of their values

    def array(self, x):
        if x is None:
            return "NULL"
        text = ", ".join(
            "NAN" if v != v else "INFINITY" if v == float("inf") else "-INFINITY" if v == -float("inf") else repr(v)
            for v in x.detach().double().flatten().tolist()
        )
        return self.arrays.setdefault(text or "0", f"v{len(self.arrays)}")

    def tensor(self, flags, x, grad):
        shape = ", ".join(str(n) for n in x.shape) or "0"
        return f"{{{flags}, {x.dim()}, {{{shape}}}, {self.array(x)}, {self.array(grad)}}}"

    def add(self, name, call, operands, *numbers):
        """operands: (flags, tensor) each; call takes the tensors."""
        xs = [x.double() if INDEX not in flags else x for flags, x in operands]
        for x, (flags, _) in zip(xs, operands):
            x.requires_grad_(GRAD in flags)
        y = call(*xs)
        if y.requires_grad:
            y.backward(seed_of(y.shape))
        operands = [
            self.tensor(flags, x, x.grad if GRAD in flags else None) for x, (flags, _) in zip(xs, operands)
        ]
        result = self.tensor("0", y, None)
        numbers = ", ".join(str(float(n)) for n in numbers) or "0"
        self.rows.append(f'{{"{name}", {{{numbers}}}, {len(xs)}, {{{", ".join(operands)}}}, {result}}},')

    def write(self, script, name):
        print("/* SPDX-License-Identifier: MIT */")
        print(f"/* Made by tests/golden/{script} with PyTorch {torch.__version__.split('+')[0]}. */")
        print("/* clang-format off */")
        for values, array in self.arrays.items():
            print(f"static const double {array}[] = {{{values}}};")
        print(f"static const golden_case {name}[] = {{")
        print("\n".join(self.rows))
        print("{.name = NULL}};")
