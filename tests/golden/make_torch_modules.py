# SPDX-License-Identifier: MIT
"""Samples of the layers of PyTorch's module_db: make_torch_modules.py tests/golden/torch_modules.gz.

A layer with parameters is a case of its own name; its parameters and buffers are operands called self.NAME. A layer
without parameters is a case of its function. Several results are one vector, one behind the other. Needs PyTorch, and
the packages expecttest and hypothesis. torch_samples.py says what the file is.
"""
import inspect
import re
import sys

import torch
from torch.testing._internal.common_modules import module_db
from torch_samples import Unstored, begin, exact, left, lines, refused, store, thinned, write

MOST_ELEMENTS = 4000  # of the operands of a sample
MOST_SAMPLES = 32  # of a layer; the others are left out at random

# Layers with parameters or settings of their own.
LAYERS = """BatchNorm1d BatchNorm2d BatchNorm3d InstanceNorm1d InstanceNorm2d InstanceNorm3d GroupNorm LayerNorm RMSNorm
    LocalResponseNorm Softmax2d Linear Bilinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d Embedding PReLU
    RNN GRU LSTM RNNCell GRUCell LSTMCell MultiheadAttention Transformer TransformerEncoder TransformerEncoderLayer
    TransformerDecoderLayer LPPool1d LPPool2d LPPool3d ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d
    ReplicationPad2d ReplicationPad3d CircularPad1d CircularPad2d CircularPad3d ZeroPad1d ZeroPad2d ZeroPad3d
    ConstantPad1d ConstantPad2d ConstantPad3d""".split()

# Functions whose names are not those of the layer in lower case, with words joined by _.
FUNCTIONS = {
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "CrossEntropyLoss": "cross_entropy",
    "KLDivLoss": "kl_div",
    "LogSigmoid": "logsigmoid",
    "MultiLabelMarginLoss": "multilabel_margin_loss",
    "MultiLabelSoftMarginLoss": "multilabel_soft_margin_loss",
    "L1Loss": "l1_loss",
    "LeakyReLU": "leaky_relu",
    "ReLU": "relu",
    "ReLU6": "relu6",
    "SiLU": "silu",
    "CTCLoss": "ctc_loss",
    "NLLLoss": "nll_loss",
    "MSELoss": "mse_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "GaussianNLLLoss": "gaussian_nll_loss",
    "PoissonNLLLoss": "poisson_nll_loss",
}
LACKED = ("FractionalMaxPool", "Lazy", "LinearCrossEntropy")
RENAMED = {"x": "input", "input1": "input", "log_probs": "input", "log_input": "input", "anchor": "input"}
STATISTICS = ("BatchNorm", "InstanceNorm")  # they differ in training


def function_of(name):
    words = re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()
    return FUNCTIONS.get(name, re.sub(r"_pool([123]d)", r"_pool\1", words))


def named(function, given):
    """The arguments of a call by name."""
    names = [n for n in inspect.signature(function).parameters if n != "self"]
    if "args" in names:
        names = ["input_size", "hidden_size", "num_layers"]  # of a recurrent layer
    return dict(zip(names, given.args)) | given.kwargs


def flat(arguments):
    """The arguments as operands and settings: (h, c) are h and c, and a layer is its settings."""
    found = {}
    for key, x in arguments.items():
        if isinstance(x, (tuple, list)) and x and isinstance(x[0], torch.Tensor):
            found |= {f"{key}.{i}": exact(t) for i, t in enumerate(x)}
        elif x is not None and not isinstance(x, (torch.dtype, torch.device)) and key != "device":
            found[key] = exact(x)
    return found


def joined(y):
    """The results as one tensor."""
    if isinstance(y, torch.Tensor):
        return y
    parts = []
    for x in y:
        parts += [joined(x).flatten()] if x is not None else []
    return torch.cat(parts)


def called(module, inputs):
    """The layer as a function of its operands by name, which also has the weights of a loss's classes."""
    buffers = {k: b.clone() for k, b in module.named_buffers()}

    def call(arguments):
        state = {k[5:]: x for k, x in arguments.items() if k.startswith("self.")}
        state = {k: arguments.get(k, b.clone()) for k, b in buffers.items()} | state
        given = {}
        for key, x in inputs.items():
            if isinstance(x, (tuple, list)) and x and isinstance(x[0], torch.Tensor):
                given[key] = tuple(arguments[f"{key}.{i}"] for i in range(len(x)))
            else:
                given[key] = arguments.get(RENAMED.get(key, key), x)
        y = torch.func.functional_call(module, state, args=(), kwargs=given)
        return joined(y) if type(module).__name__ in LAYERS else y

    return call


def settings_of(constructor):
    """A Transformer's constructor takes a layer, whose settings they then are."""
    layer = constructor.pop("encoder_layer", None)
    if layer is None:
        return constructor
    gelu = layer.activation is not torch.nn.functional.relu
    return constructor | {
        "d_model": layer.linear1.in_features,
        "nhead": layer.self_attn.num_heads,
        "dim_feedforward": layer.linear1.out_features,
        "dropout": layer.dropout.p,
        "activation": "gelu" if gelu else "relu",
        "batch_first": layer.self_attn.batch_first,
        "norm_first": layer.norm_first,
        "bias": layer.linear1.bias is not None,
    }


def stored(name, kind, sample, training):
    """Stores a sample of a layer."""
    constructor = named(kind.__init__, sample.constructor_input)
    module = kind(*sample.constructor_input.args, **sample.constructor_input.kwargs).double().train(training)
    inputs = named(kind.forward, sample.forward_input)
    state = {f"self.{k}": exact(p.detach()).requires_grad_() for k, p in module.named_parameters()}
    state |= {f"self.{k}": exact(b) for k, b in module.named_buffers() if b.dtype == torch.float64}
    settings = {k: getattr(x, "__name__", x) if callable(x) else x for k, x in settings_of(constructor).items()}
    if name.startswith(STATISTICS):
        settings["training"] = training
        settings["cumulative_average"] = constructor.get("momentum", 0) is None
    layer = name in LAYERS
    arguments = flat(settings) | {RENAMED.get(k, k): x for k, x in flat(inputs).items()} | (state if layer else {})
    call = called(module, inputs)
    lines.extend(store(name if layer else function_of(name), arguments, (), call, MOST_ELEMENTS))


def modules():
    for info in module_db:
        kind, name = info.module_cls, info.name.removeprefix("nn.")
        for training in (True, False) if name.startswith(STATISTICS) else (False,):
            make = info.module_inputs_func
            samples = list(make(info, device="cpu", dtype=torch.float64, requires_grad=True, training=training))
            if name.startswith(LACKED):
                left[f"layers that libht lacks: {name}"] += len(samples)
                continue
            for sample in thinned(samples, MOST_SAMPLES):
                try:
                    stored(name, kind, sample, training)
                except Unstored as why:
                    left[str(why)] += 1
        if info.module_error_inputs_func is None or name.startswith(LACKED):
            continue
        for error in info.module_error_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True, training=True):
            wrong = error.module_error_input
            try:
                arguments = flat(named(kind.__init__, wrong.constructor_input))
                if wrong.forward_input is not None:
                    arguments |= flat(named(kind.forward, wrong.forward_input))
                lines.extend(refused(name if name in LAYERS else function_of(name), arguments))
            except Unstored as why:
                left[f"errors: {why}"] += 1


begin()
modules()
write(sys.argv[1])
