#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes layers.h: what PyTorch gives for rows of the table of functionals (tests/nn/functionals), in float64.

usage: python3 make_layers.py > layers.h

A case is a row: the name, its place among the rows of that name, and the shapes of its operands, whose numbers are
those of nn_operand_of. Values are the result, and the gradients of the sum of its squares.
"""
import math

import torch
import torch.nn.functional as F

counts = {}
rows = []


def operand(i, shape):
    """A shape that ends in "+" is of numbers above 0, in "=" of numbers without gradient, in "i" of indices."""
    flags = [f for f in shape if isinstance(f, str)]
    shape = [n for n in shape if not isinstance(n, str)]
    numbers = []
    for k in range(math.prod(shape)):
        n = k + 1
        value = 0.5 * math.sin(12.9898 * n + 78.233 * i) + 0.4999 * math.sin(4.1414 * n * (i + 2))
        numbers.append((2 * k + 1) % 3 if "i" in flags else value + (1.5 if "+" in flags else 0))
    x = torch.tensor(numbers, dtype=torch.int64 if "i" in flags else torch.float64).reshape(shape)
    return x if "i" in flags or "=" in flags else x.requires_grad_()


def array(name, x):
    values = ", ".join(repr(v) for v in x.detach().flatten().tolist())
    print(f"static const double {name}[] = {{{values}}};")


def case(name, shapes, function):
    variant = counts.get(name, 0)
    counts[name] = variant + 1
    stem = f"golden_{name[3:]}_{variant}"
    inputs = [operand(i, shape) for i, shape in enumerate(shapes)]
    y = function(*inputs)
    (y * y).sum().backward()
    array(stem + "_y", y)
    grads = []
    for i, x in enumerate(inputs):
        if x.grad is None:
            grads.append("NULL")
            continue
        array(f"{stem}_{i}", x.grad)
        grads.append(f"{stem}_{i}")
    rows.append(f'    {{"{name}", {variant}, {stem}_y, {{{", ".join(grads)}}}}},')


print("/* SPDX-License-Identifier: MIT\n *\n * Made by make_layers.py with PyTorch", torch.__version__.split("+")[0] + ". */")
print("/* clang-format off */")

case("ht_layer_norm", [(4, 3, 2), (3, 2), (3, 2)], lambda x, w, b: F.layer_norm(x, (3, 2), w, b))
case("ht_layer_norm", [(4, 5), (5,), (5,)], lambda x, w, b: F.layer_norm(x, (5,), w, b))
case("ht_group_norm", [(4, 6, 2), (6,), (6,)], lambda x, w, b: F.group_norm(x, 3, w, b))
case("ht_group_norm", [(3, 4, 2, 2), (4,), (4,)], lambda x, w, b: F.group_norm(x, 1, w, b))
instances = [(4, 3, 2, 2), (3, "="), (3, "=", "+"), (3,), (3,)]
case("ht_instance_norm", instances, lambda x, m, v, w, b: F.instance_norm(x, m, v, w, b, True, 0.1))
case("ht_instance_norm", instances, lambda x, m, v, w, b: F.instance_norm(x, m, v, w, b, False))
case("ht_rms_norm", [(4, 3, 2), (3, 2)], lambda x, w: F.rms_norm(x, (3, 2), w))
case("ht_rms_norm", [(4, 2, 3), (3,)], lambda x, w: F.rms_norm(x, (3,), w, 0.1))
case("ht_local_response_norm", [(4, 5, 2)], lambda x: F.local_response_norm(x, 3, 0.9, 0.75, 1.5))
case("ht_local_response_norm", [(4, 3, 2, 1)], lambda x: F.local_response_norm(x, 4, 0.5, 0.75, 1.5))

case("ht_embedding", [(4, 2, "i"), (3, 4)], F.embedding)
bag = [(4, 3, "i"), (3, 2)]
case("ht_embedding_bag", bag, lambda i, w: F.embedding_bag(i, w))
case("ht_embedding_bag", bag, lambda i, w: F.embedding_bag(i, w, mode="max"))
case("ht_embedding_bag", bag, lambda i, w: F.embedding_bag(i, w, padding_idx=1))
case("ht_embedding_bag", bag, lambda i, w: F.embedding_bag(i, w, mode="max", padding_idx=2))
case("ht_embedding_bag", bag + [(4, 3)], lambda i, w, s: F.embedding_bag(i, w, mode="sum", per_sample_weights=s))
offsets = torch.tensor([0, 2, 2])
case("ht_embedding_bag", [(5, "i"), (3, 2), (5,)],
     lambda i, w, s: F.embedding_bag(i, w, offsets, mode="sum", per_sample_weights=s))
case("ht_embedding_bag", [(5, "i"), (3, 2)],
     lambda i, w: F.embedding_bag(i, w, offsets, mode="max", padding_idx=0))
case("ht_cosine_similarity", [(4, 3), (4, 3)], F.cosine_similarity)
case("ht_cosine_similarity", [(4, 3), (3,)], lambda a, b: F.cosine_similarity(a, b, 0))
case("ht_pairwise_distance", [(4, 3), (4, 3)], F.pairwise_distance)
case("ht_pairwise_distance", [(4, 3), (3,)], lambda a, b: F.pairwise_distance(a, b, 3, keepdim=True))
case("ht_bilinear", [(4, 3), (4, 2), (2, 3, 2), (2,)], F.bilinear)
case("ht_bilinear", [(3, 2, 2), (3, 2, 3), (2, 2, 3), (2,)], F.bilinear)

attention = F.scaled_dot_product_attention
small = [(3, 2, 4, 3), (3, 2, 3, 3), (3, 2, 3, 2)]
name = "ht_scaled_dot_product_attention_ext"
case(name, [(4, 3, 2), (4, 5, 2), (4, 5, 3), (3, 5)], attention)
case(name, small, lambda q, k, v: attention(q, k, v, is_causal=True, scale=0.7))
case(name, [(3, 4, 2, 3), (3, 2, 3, 3), (3, 1, 3, 2)], lambda q, k, v: attention(q, k, v, enable_gqa=True))
case(name, [(3, 2, 4, 3), (2, 3, 3), (3, 1, 3, 2), (3, 1, 1, 3)], attention)
case(name, small + [(3, 1, 4, 3, "=")], lambda q, k, v, m: attention(q, k, v, m > 0))

image = [(4, 4, 5)]
for mode, behind in ("constant", 1), ("constant", -2), ("reflect", 1), ("reflect", -1), ("replicate", 1), \
        ("replicate", -1), ("circular", 4), ("circular", -1):
    value = {"value": 0.5} if mode == "constant" else {}
    case("ht_pad_ext", image, lambda x: F.pad(x[None], (2, behind, 1, 2), mode, **value)[0])
case("ht_pixel_shuffle", [(3, 8, 3, 2)], lambda x: F.pixel_shuffle(x, 2))
case("ht_pixel_unshuffle", [(3, 2, 4, 6)], lambda x: F.pixel_unshuffle(x, 2))
case("ht_channel_shuffle", [(4, 6, 2)], lambda x: F.channel_shuffle(x, 3))
case("ht_upsample", [(4, 2, 3)], lambda x: F.interpolate(x, scale_factor=2))
case("ht_upsample", [(4, 2, 2, 5)], lambda x: F.interpolate(x, (3, 4)))
case("ht_upsample", [(4, 2, 2, 3)], lambda x: F.interpolate(x, scale_factor=1.7, mode="nearest-exact"))
case("ht_upsample", [(3, 2, 2, 3)], lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"))
case("ht_upsample", [(3, 2, 2, 3)], lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True))
case("ht_upsample", [(3, 1, 2, 2, 3)], lambda x: F.interpolate(x, (3, 4, 5), mode="trilinear"))
case("ht_upsample", [(3, 1, 4, 3)], lambda x: F.interpolate(x, scale_factor=1.5, mode="bicubic"))
case("ht_upsample", [(3, 1, 3, 2)], lambda x: F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=True))

strided = dict(stride=2, padding=1, groups=2)
up = dict(strided, output_padding=1)


def circular(conv, dims):
    return lambda x, w, b: conv(F.pad(x, (1,) * (2 * dims), "circular"), w, b)


case("ht_conv1d", [(4, 3, 5), (2, 3, 2), (2,)], F.conv1d)
case("ht_conv1d", [(3, 4, 6), (4, 2, 3), (4,)], lambda x, w, b: F.conv1d(x, w, b, **strided))
case("ht_conv1d", [(3, 2, 4), (2, 2, 2), (2,)], lambda x, w, b: F.conv1d(x, w, b, padding="same"))
case("ht_conv1d", [(3, 2, 4), (2, 2, 3), (2,)], circular(F.conv1d, 1))
case("ht_conv2d_ext", [(4, 2, 3, 3), (2, 2, 2, 1), (2,)], F.conv2d)
case("ht_conv2d_ext", [(3, 2, 3, 4), (2, 2, 3, 2), (2,)], lambda x, w, b: F.conv2d(x, w, b, padding="same"))
case("ht_conv2d_ext", [(3, 2, 3, 4), (2, 2, 3, 2), (2,)], circular(F.conv2d, 2))
case("ht_conv3d", [(3, 2, 3, 2, 2), (3, 2, 2, 2, 1), (3,)], F.conv3d)
case("ht_conv3d", [(2, 4, 3, 2, 3), (2, 2, 3, 2, 2), (2,)], lambda x, w, b: F.conv3d(x, w, b, **strided))
case("ht_conv3d", [(2, 1, 4, 3, 3), (2, 1, 2, 2, 2), (2,)], lambda x, w, b: F.conv3d(x, w, b, dilation=2))
case("ht_conv_transpose1d", [(4, 2, 3), (2, 3, 2), (3,)], F.conv_transpose1d)
case("ht_conv_transpose1d", [(3, 4, 3), (4, 1, 3), (2,)], lambda x, w, b: F.conv_transpose1d(x, w, b, **up))
case("ht_conv_transpose2d", [(4, 2, 2, 3), (2, 3, 2, 1), (3,)], F.conv_transpose2d)
case("ht_conv_transpose2d", [(3, 4, 2, 3), (4, 1, 3, 2), (2,)], lambda x, w, b: F.conv_transpose2d(x, w, b, **up))
case("ht_conv_transpose2d", [(3, 2, 2, 2), (2, 2, 2, 2), (2,)],
     lambda x, w, b: F.conv_transpose2d(x, w, b, dilation=2))
case("ht_conv_transpose3d", [(3, 2, 2, 2, 1), (2, 2, 2, 1, 2), (2,)], F.conv_transpose3d)
case("ht_conv_transpose3d", [(2, 2, 2, 2, 2), (2, 1, 2, 3, 2), (2,)], lambda x, w, b: F.conv_transpose3d(x, w, b, **up))
case("ht_avg_pool", [(4, 2, 5)], lambda x: F.avg_pool1d(x, 2))
case("ht_avg_pool", [(3, 2, 4, 5)], lambda x: F.avg_pool2d(x, 3, 2, 1))
case("ht_avg_pool", [(3, 2, 4, 5)], lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False))
case("ht_avg_pool", [(3, 1, 3, 4, 5)], lambda x: F.avg_pool3d(x, 2, 3, ceil_mode=True))
case("ht_avg_pool", [(3, 2, 4, 5)], lambda x: F.avg_pool2d(x, 2, divisor_override=3))
case("ht_max_pool", [(4, 2, 5)], lambda x: F.max_pool1d(x, 2))
case("ht_max_pool", [(3, 2, 4, 5)], lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True))
case("ht_max_pool", [(3, 1, 3, 4, 3)], lambda x: F.max_pool3d(x, 3, 2, 1))
case("ht_max_pool", [(3, 2, 3, 3, 3)], lambda x: F.max_pool3d(x, 2, 1, dilation=2))
case("ht_max_pool_ext", [(4, 2, 5)], lambda x: F.max_pool1d(x, 2))
case("ht_max_pool_ext", [(3, 1, 3, 4, 3)], lambda x: F.max_pool3d(x, 3, 2, 1, ceil_mode=True))
case("ht_max_unpool", [(4, 2, 3), (4, 2, 3, "i")], lambda x, i: F.max_unpool1d(x, i, 2))
case("ht_max_unpool", [(3, 2, 1, 3), (3, 2, 1, 3, "i")], lambda x, i: F.max_unpool2d(x, i, 3, 2, 1))
case("ht_max_unpool", [(3, 2, 1, 3), (3, 2, 1, 3, "i")], lambda x, i: F.max_unpool2d(x, i, 3, 2, 1, (2, 6)))
case("ht_max_unpool", [(3, 1, 1, 1, 3), (3, 1, 1, 1, 3, "i")], lambda x, i: F.max_unpool3d(x, i, 2))
case("ht_fractional_max_pool", [(3, 2, 5, 4), (3, 2, 2, "=")],
     lambda x, s: F.fractional_max_pool2d(x, 2, 2, _random_samples=s.abs()))
case("ht_fractional_max_pool", [(3, 2, 5, 6), (3, 2, 2, "=")],
     lambda x, s: F.fractional_max_pool2d(x, 2, output_ratio=(0.5, 0.5), _random_samples=s.abs()))
case("ht_fractional_max_pool", [(3, 1, 4, 4, 5), (3, 1, 3, "=")],
     lambda x, s: F.fractional_max_pool3d(x, 2, 2, _random_samples=s.abs()))
case("ht_lp_pool", [(4, 2, 5)], lambda x: F.lp_pool1d(x, 2, 2))
case("ht_lp_pool", [(3, 2, 4, 5)], lambda x: F.lp_pool2d(x, 2, 2, 3, ceil_mode=True))
case("ht_adaptive_avg_pool", [(4, 2, 5)], lambda x: F.adaptive_avg_pool1d(x, 2))
case("ht_adaptive_avg_pool", [(3, 2, 3, 5)], lambda x: F.adaptive_avg_pool2d(x, (2, 3)))
case("ht_adaptive_avg_pool", [(3, 1, 3, 4, 2)], lambda x: F.adaptive_avg_pool3d(x, (2, 3, None)))
case("ht_adaptive_max_pool", [(4, 2, 5)], lambda x: F.adaptive_max_pool1d(x, 2))
case("ht_adaptive_max_pool", [(3, 2, 3, 5)], lambda x: F.adaptive_max_pool2d(x, (2, 3)))
case("ht_adaptive_max_pool", [(3, 1, 3, 4, 2)], lambda x: F.adaptive_max_pool3d(x, (2, 3, None)))
case("ht_unfold", [(3, 2, 3, 4)], lambda x: F.unfold(x, 2))
case("ht_unfold", [(3, 2, 3, 4)], lambda x: F.unfold(x, 3, stride=2, padding=1))
case("ht_fold", [(3, 8, 6)], lambda x: F.fold(x, (3, 4), 2))
case("ht_fold", [(3, 9, 4)], lambda x: F.fold(x, (3, 4), 3, stride=2, padding=1))



def network(kind, **options):
    """The output of a network with the batch first, a function of x and the weights in the order of flat weights."""
    def run(x, *weights):
        hidden = weights[0].shape[0] // {"RNN": 1, "LSTM": 4, "GRU": 3}[kind]
        module = getattr(torch.nn, kind)(x.shape[-1], hidden, batch_first=True, dtype=x.dtype, **options)
        names = [name for name, _ in module.named_parameters()]
        return torch.func.functional_call(module, dict(zip(names, weights)), (x,))[0]
    return run


def weights(gates):
    return [(2 * gates, 3), (2 * gates, 2), (2 * gates,), (2 * gates,)]


def cell(kind, states):
    """h, or h and c side by side, of one step."""
    def run(x, *rest):
        state, given = rest[:states], list(rest[states:])
        given += [torch.zeros(given[0].shape[0], dtype=x.dtype) for _ in range(4 - len(given))]
        zero = torch.zeros(x.shape[0], given[1].shape[1], dtype=x.dtype)
        h = state[0] if states > 0 else zero
        if kind != "lstm_cell":
            return getattr(torch._VF, kind)(x, h, *given)
        return torch.cat(torch._VF.lstm_cell(x, (h, state[1] if states > 1 else zero), *given), 1)
    return run


sequence, step = [(3, 2, 3)], [(4, 3)]
case("ht_rnn", sequence + weights(1), network("RNN"))
case("ht_rnn", sequence + [(2, 3), (2, 2), (2, 2), (2, 2)],
     network("RNN", num_layers=2, nonlinearity="relu", bias=False))
case("ht_lstm", sequence + weights(4), network("LSTM"))
case("ht_lstm", sequence + [(12, 3), (12, 2), (2, 3)], network("LSTM", proj_size=2, bias=False))
case("ht_gru", sequence + weights(3), network("GRU"))
case("ht_gru", sequence + 2 * [(6, 3), (6, 2)], network("GRU", bidirectional=True, bias=False))
case("ht_rnn_cell", step + weights(1), cell("rnn_tanh_cell", 0))
case("ht_rnn_cell", step + [(4, 2)] + weights(1)[:3], cell("rnn_tanh_cell", 1))
case("ht_lstm_cell", step + weights(4), cell("lstm_cell", 0))
case("ht_lstm_cell", step + [(4, 2), (4, 2)] + weights(4)[:2], cell("lstm_cell", 2))
case("ht_gru_cell", step + weights(3), cell("gru_cell", 0))
case("ht_gru_cell", step + [(4, 2)] + weights(3)[:3], cell("gru_cell", 1))

print("static const struct golden_layer {\n    const char *name;\n    int variant;\n    const double *y, *grads[5];\n"
      "} golden_layers[] = {")
print("\n".join(rows))
print("};")
