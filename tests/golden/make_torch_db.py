# SPDX-License-Identifier: MIT
"""Samples of the functions of PyTorch's op_db: make_torch_db.py tests/golden/torch_db.gz.

Needs PyTorch, and the packages expecttest and hypothesis. torch_samples.py says what the file is.
"""
import sys

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch_samples import Unstored, begin, exact, left, lines, refused, store, thinned, write

MOST_ELEMENTS = 2000  # of the operands of a sample
MOST_SAMPLES = 60  # of a function; the others are left out at random

# For each function: its parameters; those whose axis 0 is the batch; the axes from which on they have a batch.
ELEMENTWISE = ("input", 1)
IMAGES = "stride padding dilation groups"
POOL = "kernel_size stride padding"
TWO = ("input target", 1)
FUNCTIONS = {
    "softmax": ("dim", "input", 1),
    "log_softmax": ("dim", "input", 1),
    "tanh": ("", *ELEMENTWISE),
    "sigmoid": ("", *ELEMENTWISE),
    "softmin": ("dim", "input", 1),
    "relu": ("", *ELEMENTWISE),
    "relu6": ("", *ELEMENTWISE),
    "leaky_relu": ("negative_slope", *ELEMENTWISE),
    "prelu": ("weight", "input", 2),
    "rrelu": ("lower upper training", *ELEMENTWISE),
    "elu": ("alpha", *ELEMENTWISE),
    "celu": ("alpha", *ELEMENTWISE),
    "selu": ("", *ELEMENTWISE),
    "gelu": ("", *ELEMENTWISE),
    "silu": ("", *ELEMENTWISE),
    "mish": ("", *ELEMENTWISE),
    "logsigmoid": ("", *ELEMENTWISE),
    "softplus": ("beta threshold", *ELEMENTWISE),
    "hardtanh": ("min_val max_val", *ELEMENTWISE),
    "hardsigmoid": ("", *ELEMENTWISE),
    "hardswish": ("", *ELEMENTWISE),
    "hardshrink": ("lambd", *ELEMENTWISE),
    "softshrink": ("lambd", *ELEMENTWISE),
    "threshold": ("threshold value", *ELEMENTWISE),
    "softsign": ("", *ELEMENTWISE),
    "tanhshrink": ("", *ELEMENTWISE),
    "glu": ("dim", "input", 2),
    "dropout": ("p training", *ELEMENTWISE),
    "dropout2d": ("p training", "input", 4),
    "dropout3d": ("p training", "input", 5),
    "alpha_dropout": ("p training", *ELEMENTWISE),
    "feature_alpha_dropout": ("p training", "input", 2),
    "mse_loss": ("target", *TWO),
    "l1_loss": ("target", *TWO),
    "smooth_l1_loss": ("target", *TWO),
    "huber_loss": ("target", *TWO),
    "soft_margin_loss": ("target", *TWO),
    "hinge_embedding_loss": ("target", *TWO),
    "poisson_nll_loss": ("target", *TWO),
    "gaussian_nll_loss": ("target var full eps reduction", "input target var", 1),
    "kl_div": ("target", *TWO),
    "binary_cross_entropy": ("target weight", "input target weight", 1),
    "binary_cross_entropy_with_logits": ("target weight", "input target weight", 1),
    "multilabel_soft_margin_loss": ("target weight", "input target", 2),
    "multi_margin_loss": ("target", "input target", 2),
    "multilabel_margin_loss": ("target", "input target", 2),
    "margin_ranking_loss": ("input2 target", "input input2 target", 1),
    "cosine_embedding_loss": ("input2 target", "input input2 target", 2),
    "triplet_margin_loss": ("positive negative", "input positive negative", 2),
    "triplet_margin_with_distance_loss": ("positive negative", "input positive negative", 2),
    "nll_loss": ("target", "input target", 2),
    "cross_entropy": ("target", "input target", 2),
    "ctc_loss": ("targets input_lengths target_lengths blank reduction zero_infinity", "", 1),
    "linear": ("weight bias", "input", 2),
    "bilinear": ("input2 weight bias", "input input2", 2),
    "embedding": ("indices", "indices", 1),
    "embedding_bag": ("indices", "indices per_sample_weights", 2),
    "cosine_similarity": ("x2 dim eps", "input x2", 2),
    "pairwise_distance": ("x2 p eps keepdim", "input x2", 2),
    "batch_norm": ("running_mean running_var weight bias training momentum eps", "input", 2),
    "instance_norm": ("running_mean running_var weight bias use_input_stats momentum eps", "input", 2),
    "group_norm": ("num_groups weight bias eps", "input", 2),
    "layer_norm": ("normalized_shape weight bias eps", "input", 2),
    "rms_norm": ("normalized_shape weight eps", "input", 2),
    "local_response_norm": ("size alpha beta k", "input", 3),
    "conv1d": (f"weight bias {IMAGES}", "input", 3),
    "conv2d": (f"weight bias {IMAGES}", "input", 4),
    "conv3d": (f"weight bias {IMAGES}", "input", 5),
    "conv_transpose1d": ("weight bias stride padding output_padding groups dilation", "input", 3),
    "conv_transpose2d": ("weight bias stride padding output_padding groups dilation", "input", 4),
    "conv_transpose3d": ("weight bias stride padding output_padding groups dilation", "input", 5),
    "max_pool1d": (f"{POOL} dilation ceil_mode return_indices", "input", 3),
    "max_pool2d": (f"{POOL} dilation ceil_mode return_indices", "input", 4),
    "max_pool3d": (f"{POOL} dilation ceil_mode return_indices", "input", 5),
    "avg_pool1d": (f"{POOL} ceil_mode count_include_pad", "input", 3),
    "avg_pool2d": (f"{POOL} ceil_mode count_include_pad divisor_override", "input", 4),
    "avg_pool3d": (f"{POOL} ceil_mode count_include_pad divisor_override", "input", 5),
    "adaptive_avg_pool1d": ("output_size", "input", 3),
    "adaptive_avg_pool2d": ("output_size", "input", 4),
    "adaptive_avg_pool3d": ("output_size", "input", 5),
    "adaptive_max_pool1d": ("output_size return_indices", "input", 3),
    "adaptive_max_pool2d": ("output_size return_indices", "input", 4),
    "adaptive_max_pool3d": ("output_size return_indices", "input", 5),
    "unfold": ("kernel_size dilation padding stride", "input", 4),
    "pad": ("pad mode value", "input", 2),
    "interpolate": ("size scale_factor mode align_corners recompute_scale_factor", "input", 3),
    "upsample_nearest": ("size scale_factor", "input", 3),
    "upsample_bilinear": ("size scale_factor", "input", 3),
    "pixel_shuffle": ("upscale_factor", "input", 4),
    "pixel_unshuffle": ("downscale_factor", "input", 4),
    "channel_shuffle": ("groups", "input", 2),
    "scaled_dot_product_attention": ("key value attn_mask dropout_p is_causal", "input key value", 3),
}
UNWRITTEN = ("multi_margin_loss", "multilabel_margin_loss")  # without a batch PyTorch returns memory as it was
REPEATED = ("with_dtype", "complex", "without_cudnn")  # variants with the same samples as another one


def bound(names, sample):
    """The arguments of a sample by name."""
    arguments = {"input": sample.input} | dict(zip(names.split(), sample.args)) | sample.kwargs
    return {k: exact(x) for k, x in arguments.items() if x is not None}


def batched(arguments, batch, axes):
    """The operands with a batch, if they have one of the same length."""
    keys = [k for k in batch.split() if isinstance(arguments.get(k), torch.Tensor)]
    shapes = [arguments[k].shape for k in keys]
    if not keys or len(shapes[0]) < axes or any(len(s) == 0 or s[0] != shapes[0][0] for s in shapes):
        return []
    if len(arguments.get("normalized_shape", ())) == len(shapes[0]):
        return []
    if "key" in keys and len({len(s) for s in shapes}) > 1:
        return []
    return keys


def emptied(arguments, batch):
    """The arguments with an empty batch."""
    return {
        k: x.detach()[:0].clone().requires_grad_(x.requires_grad) if k in batch else exact(x)
        for k, x in arguments.items()
    }


def called(op, names, sample):
    """The function of a sample's arguments, which are given by place or by name as in the sample."""
    places = ["input", *names.split()][: 1 + len(sample.args)]

    def call(arguments):
        named = {k: x for k, x in arguments.items() if k not in places}
        return op(*(arguments.get(k) for k in places), **named)

    return call


def replayed(name, names, batch, axes, op, samples):
    """Stores the samples of a function, and two of them with an empty batch."""
    empties = 0
    for sample in thinned(samples, MOST_SAMPLES):
        call = called(op, names, sample)
        try:
            arguments = bound(names, sample)
            keys = batched(arguments, batch, axes)
            lines.extend(store(name, arguments, keys, call, MOST_ELEMENTS))
        except Unstored as why:
            left[str(why)] += 1
            continue
        if keys and arguments[keys[0]].shape[0] > 0 and empties < 2:
            empties += 1
            if name in UNWRITTEN:
                left["empty batches for which PyTorch returns nothing"] += 1
                continue
            try:
                lines.extend(store(name, emptied(arguments, keys), keys, call, MOST_ELEMENTS))
            except (RuntimeError, ValueError, IndexError):
                left["empty batches that PyTorch refuses"] += 1


def all_refused(name, names, errors):
    """Stores the samples that PyTorch refuses."""
    for error in errors:
        try:
            lines.extend(refused(name, bound(names, error.sample_input)))
        except Unstored as why:
            left[f"errors: {why}"] += 1


def functions():
    seen = set()
    for op in op_db:
        name = op.name.removeprefix("nn.functional.")
        if not op.name.startswith("nn.functional.") and name not in ("softmax", "log_softmax", "tanh", "sigmoid"):
            continue
        if op.variant_test_name in REPEATED:
            continue
        samples = list(op.sample_inputs("cpu", torch.float64, requires_grad=True))
        if name not in FUNCTIONS:
            left["functions that libht lacks: " + name] += len(samples)
            continue
        names, batch, axes = FUNCTIONS[name]
        seen.add(name)

        replayed(name, names, batch, axes, op, samples)
        if op.error_inputs_func is not None:
            all_refused(name, names, op.error_inputs("cpu"))
    if set(FUNCTIONS) - seen:
        sys.exit(f"PyTorch has no samples of {sorted(set(FUNCTIONS) - seen)}")


begin()
functions()
write(sys.argv[1])
