#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes attention.h: what PyTorch gives for layers of attention and Transformers, in float64.

usage: python3 make_attention.py > attention.h

Parameter k of a layer, in the order of named_parameters, has the numbers of nn_leaf(k); inputs those of nn_leaf(60 + i).
Values are the outputs, and the gradients of their sum of squares: of the inputs, and of all parameters one after another.
"""
import math

import torch
import torch.nn as nn

torch.set_default_dtype(torch.float64)
N, E, H, L, S = 2, 4, 2, 3, 2
NO_BIAS, BIAS_KV, ZERO_ATTN, BATCH_FIRST, KDIM, SELF, UNBATCHED, PADDING, MASK, MASK3, WEIGHTS, AVERAGE, CAUSAL, \
    NORM_FIRST, GELU = (1 << i for i in range(15))
rows = []


def leaf(seed, *shape):
    n = [k + 1 for k in range(math.prod(shape))]
    values = [math.sin(12.9898 * k + 78.233 * seed) * 0.5 + math.sin(4.1414 * k * (seed + 1)) * 0.4999 for k in n]
    return torch.tensor(values).reshape(shape).requires_grad_()


def array(name, tensors):
    values = ", ".join(repr(v) for x in tensors for v in x.detach().flatten().tolist())
    print(f"static const double {name}[] = {{{values}}};")


def sequence(i, flags, length, features=E):
    if flags & UNBATCHED:
        return leaf(60 + i, length, features)
    return leaf(60 + i, N, length, features) if flags & BATCH_FIRST else leaf(60 + i, length, N, features)


def padding(keys):
    mask = torch.zeros(N, keys, dtype=torch.bool)
    mask[1, keys - 1] = True
    return mask


def causal(length):
    return nn.Transformer.generate_square_subsequent_mask(length)


def attention(flags):
    kdim, vdim = (3, 5) if flags & KDIM else (E, E)
    keys = L if flags & SELF else S
    layer = nn.MultiheadAttention(
        E, H, bias=not flags & NO_BIAS, add_bias_kv=bool(flags & BIAS_KV), add_zero_attn=bool(flags & ZERO_ATTN),
        kdim=kdim, vdim=vdim, batch_first=bool(flags & BATCH_FIRST))
    inputs = [sequence(0, flags, L)]
    if not flags & SELF:
        inputs += [sequence(1, flags, S, kdim), sequence(2, flags, S, vdim)]
    mask = leaf(50, L, keys).detach() if flags & MASK else None
    if flags & MASK3:
        mask = (torch.arange(N * H * L * keys) % 3 == 1).reshape(N * H, L, keys)
    if flags & CAUSAL:
        mask = causal(L)
    options = dict(key_padding_mask=padding(keys) if flags & PADDING else None, attn_mask=mask,
                   need_weights=bool(flags & WEIGHTS), average_attn_weights=bool(flags & AVERAGE),
                   is_causal=bool(flags & CAUSAL))
    return layer, inputs, lambda: layer(*(inputs * 3 if flags & SELF else inputs), **options)


def layer_options(flags):
    return dict(dim_feedforward=3, dropout=0.0, activation="gelu" if flags & GELU else "relu",
                batch_first=bool(flags & BATCH_FIRST), norm_first=bool(flags & NORM_FIRST), bias=not flags & NO_BIAS)


def encoder(flags, layers=0):
    layer = nn.TransformerEncoderLayer(E, H, **layer_options(flags))
    x = sequence(0, flags, L)
    mask = causal(L) if flags & MASK else None
    pad = padding(L) if flags & PADDING else None
    if not layers:
        return layer, [x], lambda: layer(x, src_mask=mask, src_key_padding_mask=pad)
    stack = nn.TransformerEncoder(layer, layers, nn.LayerNorm(E), enable_nested_tensor=False)
    return stack, [x], lambda: stack(x, mask=mask, src_key_padding_mask=pad)


def decoder(flags, layers=0):
    layer = nn.TransformerDecoderLayer(E, H, **layer_options(flags))
    inputs = [sequence(0, flags, L), sequence(1, flags, S)]
    options = dict(tgt_mask=causal(L) if flags & MASK else None,
                   memory_key_padding_mask=padding(S) if flags & PADDING else None)
    module = nn.TransformerDecoder(layer, layers) if layers else layer
    return module, inputs, lambda: module(*inputs, **options)


def transformer(flags):
    module = nn.Transformer(E, H, 1, 1, **layer_options(flags))
    inputs = [sequence(0, flags, S), sequence(1, flags, L)]
    options = dict(tgt_mask=causal(L) if flags & MASK else None,
                   src_key_padding_mask=padding(S) if flags & PADDING else None)
    return module, inputs, lambda: module(*inputs, **options)


def case(kind, flags, made):
    module, inputs, call = made
    with torch.no_grad():
        for k, p in enumerate(module.parameters()):
            p.copy_(leaf(k, *p.shape))
    outputs = call()
    outputs = [y for y in (outputs if isinstance(outputs, tuple) else (outputs,)) if y is not None]
    sum((y * y).sum() for y in outputs).backward()
    stem = f"attention_{len(rows)}"
    array(stem + "_y", outputs)
    array(stem + "_x", [x.grad for x in inputs])
    array(stem + "_p", [p.grad for p in module.parameters()])
    names = " ".join(name for name, _ in module.named_parameters())
    rows.append(f'    {{{kind}, {flags}, {len(outputs)}, {stem}_y, {stem}_x, {stem}_p, "{names}"}},')


print("/* SPDX-License-Identifier: MIT\n *\n * Made by make_attention.py with PyTorch",
      torch.__version__.split("+")[0] + ". */")
print("/* clang-format off */")
for flags in (0, WEIGHTS | AVERAGE, WEIGHTS | PADDING | MASK, SELF | BATCH_FIRST | PADDING, SELF | MASK3 | NO_BIAS,
              KDIM | BIAS_KV | MASK3 | WEIGHTS, KDIM | ZERO_ATTN | BIAS_KV | PADDING | MASK | BATCH_FIRST,
              UNBATCHED | SELF | CAUSAL, UNBATCHED | WEIGHTS | AVERAGE | MASK, ZERO_ATTN | PADDING):
    case("MULTIHEAD", flags, attention(flags))
for flags in (0, NORM_FIRST | GELU | BATCH_FIRST | PADDING, UNBATCHED | MASK | NO_BIAS):
    case("ENCODER_LAYER", flags, encoder(flags))
    case("DECODER_LAYER", flags, decoder(flags))
case("ENCODER", BATCH_FIRST | MASK | PADDING, encoder(BATCH_FIRST | MASK | PADDING, 2))
case("DECODER", GELU | MASK, decoder(GELU | MASK, 2))
case("TRANSFORMER", MASK | PADDING, transformer(MASK | PADDING))
print("static const struct golden_attention {\n    int kind, flags, outputs;\n    const double *y, *x, *p;\n"
      "    const char *names;\n} golden_attention[] = {")
print("\n".join(rows))
print("};")
