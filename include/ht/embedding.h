/* SPDX-License-Identifier: MIT
 *
 * Embeddings, similarities of vectors and bilinear products, as functions and as layers. Source:
 * torch.nn, torch.nn.functional.
 *
 * Operands may be split along the batch (axis 0); the result then has that split and those slabs,
 * too. A weight is replicated on their communicator, and its gradient is summed over it.
 * Differentiable in all floating operands. Results are scoped; NULL after an error.
 * Layers are owned. Those with parameters have float32 ones, and take process-local batches
 * (ht/nn.h). The others take what their functions take. Constructors are not collective. A layer of
 * several inputs takes a list of tensors (ht_value_tensors) by ht_forward_value.
 * Errors: HT_ERR_SHAPE for operands that do not fit, HT_ERR_DTYPE for another dtype.
 * HT_ERR_ARGUMENT for an operand with another split, or a setting out of its range. HT_ERR_COMM for
 * operands on different communicators. */
#ifndef HT_EMBEDDING_H
#define HT_EMBEDDING_H

#include "ht/module.h"

HT_BEGIN_DECLS

/* The padding_idx without a row. */
#define HT_NO_PADDING INT64_MIN

/* Options of ht_embedding_ext. Each field begins with its default. */
typedef struct ht_embedding_options {
    size_t size;             /* set by ht_embedding_options_default */
    int64_t padding_idx;     /* HT_NO_PADDING. The gradient of this row is 0; from -rows to rows
                                - 1, and a negative one counts from the end */
    double max_norm;         /* INFINITY; at least 0. Rows of indices with a larger norm are first
                                scaled to it, in place; nothing is recorded, and weight may be a
                                leaf that requires gradients */
    double norm_type;        /* 2, the order of that norm; above 0 */
    bool scale_grad_by_freq; /* false; true: the gradient of a row is divided by the number of its
                                indices */
} ht_embedding_options;

/* Returns the default options, with size set. Not collective. */
HT_API ht_embedding_options ht_embedding_options_default(void);

/* Returns weight[i] for each index i of indices.
 *
 * indices: integers from 0 to rows - 1, of any shape and split.
 * weight: (rows, columns), floating.
 * Collective if indices are split.
 * Result: the shape of indices and (columns), split as indices, of the dtype of weight.
 * Errors: HT_ERR_ARGUMENT on all ranks for an index that is not a row, also a negative one.
 * Source: torch.nn.functional.embedding. */
HT_API ht_tensor *ht_embedding(ht_tensor *indices, ht_tensor *weight);

/* ht_embedding of indices and weight with options; NULL: the defaults.
 *
 * Errors: also HT_ERR_ARGUMENT for a padding_idx that is not a row, and for a norm out of range.
 * HT_ERR_STATE if max_norm is to change a weight that must not be written. */
HT_API ht_tensor *ht_embedding_ext(ht_tensor *indices, ht_tensor *weight,
                                   const ht_embedding_options *options);

/* How the rows of a bag become one. */
typedef enum ht_bag_mode { HT_BAG_MEAN, HT_BAG_SUM, HT_BAG_MAX } ht_bag_mode;

/* Options of ht_embedding_bag. Each field begins with its default. */
typedef struct ht_embedding_bag_options {
    size_t size;                   /* set by ht_embedding_bag_options_default */
    ht_bag_mode mode;              /* HT_BAG_MEAN */
    ht_tensor *per_sample_weights; /* NULL. HT_BAG_SUM: rows are multiplied by these numbers, of the
                                      shape of indices and the dtype of weight. Borrowed */
    bool include_last_offset;      /* false; true: the last offset is the end of the last bag */
    int64_t padding_idx;           /* HT_NO_PADDING. This row is in no bag */
    double max_norm, norm_type;    /* INFINITY, 2: as in ht_embedding_options */
    bool scale_grad_by_freq;       /* false: as in ht_embedding_options. Not HT_BAG_MAX */
} ht_embedding_bag_options;

/* Returns the default options, with size set. Not collective. */
HT_API ht_embedding_bag_options ht_embedding_bag_options_default(void);

/* Returns the mean, sum or maximum of the rows of weight in each bag of indices.
 *
 * A bag without rows gives 0. With offsets, memory is the number of bags times the longest bag.
 * indices: integers from 0 to rows - 1: (bags, length), one bag a row, which may be split along
 *   axis 0; or with offsets (n), not split.
 * weight: (rows, columns), floating.
 * offsets: (bags), integers: bag i begins at indices[offsets[i]]; (bags + 1) with
 *   include_last_offset. Ascending from 0, not split, the same on all ranks. NULL for indices of
 *   two axes.
 * options: NULL means the defaults.
 * Collective if indices are split.
 * Result: (bags, columns), split as indices, of the dtype of weight.
 * Errors: HT_ERR_ARGUMENT on all ranks for an index that is not a row. HT_ERR_ARGUMENT for offsets
 * out of order, or for options that are out of range or exclude each other. HT_ERR_SHAPE also for
 * (n) without offsets. HT_ERR_STATE as for ht_embedding_ext.
 * Source: torch.nn.functional.embedding_bag. */
HT_API ht_tensor *ht_embedding_bag(ht_tensor *indices, ht_tensor *weight, ht_tensor *offsets,
                                   const ht_embedding_bag_options *options);

/* sum(x1 x2) / (max(|x1|, eps) max(|x2|, eps)) along axis of the shape to which x1 and x2
 * broadcast.
 *
 * x1, x2: floating, of any splits; scalars count as (1).
 * axis, eps: PyTorch's defaults are 1 and 1e-8. eps is not checked here.
 * Collective if the split axis is reduced, or if x1 and x2 have different splits or slabs.
 * Result: without axis, split as the result of ht_sum, of the dtype to which x1 and x2 promote
 * (ht_result_type).
 * Errors: HT_ERR_ARGUMENT for an axis outside of that shape.
 * Source: torch.nn.functional.cosine_similarity. */
HT_API ht_tensor *ht_cosine_similarity(ht_tensor *x1, ht_tensor *x2, int axis, double eps);

/* (sum |x1 - x2 + eps|^p)^(1 / p) along the last axis of the shape to which x1 and x2 broadcast.
 *
 * x1, x2: floating, of any splits.
 * p, eps: PyTorch's defaults are 2 and 1e-6. p is any order of ht_vector_norm, also negative, 0 or
 *   infinite. eps is any number.
 * keepdims: the axis stays, with length 1.
 * Collective if the split axis is reduced, or if x1 and x2 have different splits or slabs.
 * Result: split as the result of ht_sum, of the dtype to which x1 and x2 promote (ht_result_type).
 * Errors: HT_ERR_ARGUMENT for an order that ht_vector_norm refuses, or if x1 and x2 are scalars.
 * Source: torch.nn.functional.pairwise_distance. */
HT_API ht_tensor *ht_pairwise_distance(ht_tensor *x1, ht_tensor *x2, double p, double eps,
                                       bool keepdims);

/* y[..., o] = x1[...]^T weight[o] x2[...] + bias[o].
 *
 * x1, x2: (..., in1) and (..., in2), floating, of one dtype and the same leading axes.
 * weight, bias: (out, in1, in2) and (out) or NULL, of that dtype.
 * Logically collective; collective if x1 and x2 are split in different slabs.
 * Result: (..., out), with the slabs of x1, or of x2 if x1 is not split.
 * Source: torch.nn.functional.bilinear. */
HT_API ht_tensor *ht_bilinear(ht_tensor *x1, ht_tensor *x2, ht_tensor *weight, ht_tensor *bias);

/* A layer of ht_embedding with a standard normal weight (rows, columns).
 * rows, columns: at least 1. */
HT_API ht_module *ht_nn_embedding(int64_t rows, int64_t columns);

/* ht_nn_embedding of rows and columns with options; NULL: the defaults.
 *
 * The row padding_idx starts with zeros.
 * Errors: also HT_ERR_ARGUMENT for a padding_idx that is not a row, and for a norm out of range. */
HT_API ht_module *ht_nn_embedding_ext(int64_t rows, int64_t columns,
                                      const ht_embedding_options *options);

/* A layer of ht_embedding_bag.
 *
 * Its input is indices with two axes, or a list of indices, offsets and per_sample_weights. The
 * list may end after indices or after offsets.
 * rows, columns: the shape of weight; at least 1. It is standard normal, and the row padding_idx is
 *   0.
 * options: NULL means the defaults; its per_sample_weights is NULL.
 * Errors: also HT_ERR_ARGUMENT for a padding_idx that is not a row, and for a norm out of range. */
HT_API ht_module *ht_nn_embedding_bag(int64_t rows, int64_t columns,
                                      const ht_embedding_bag_options *options);

/* A layer of ht_cosine_similarity for a list of two tensors.
 * axis, eps: PyTorch's defaults are 1 and 1e-8; eps is finite and at least 0. The forward pass
 * checks axis. */
HT_API ht_module *ht_nn_cosine_similarity(int axis, double eps);

/* A layer of ht_pairwise_distance for a list of two tensors.
 * p, eps, keepdims: as for ht_pairwise_distance, with its errors. */
HT_API ht_module *ht_nn_pairwise_distance(double p, double eps, bool keepdims);

/* A layer of ht_bilinear for a list of two tensors.
 *
 * in1_features, in2_features, out_features: the last axes of x1, x2 and the result; at least 1.
 *   weight and bias are uniform in +-1 / sqrt(in1_features).
 * bias: false leaves out the bias. */
HT_API ht_module *ht_nn_bilinear(int64_t in1_features, int64_t in2_features, int64_t out_features,
                                 bool bias);

HT_END_DECLS
#endif
