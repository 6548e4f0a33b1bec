/* SPDX-License-Identifier: MIT
 *
 * The kernels of the module: each file adds its own. */
#ifndef HT_BACKENDS_CUDA_KERNELS_H
#define HT_BACKENDS_CUDA_KERNELS_H

#include "ht/backend.h"

HT_BEGIN_DECLS

/* clang-format off */
#define HT_CUDA_FILES(X) \
    X(activations) X(arithmetics) X(attention) X(bitwise) X(cell) X(complex_math) X(convert) X(copy) \
    X(cumulative) X(conv) X(ctc) X(dropout) X(exponential) X(extremes) X(gemm) X(logical) X(max_pool) X(nn_rows) X(nonzero) \
    X(norm) X(random) X(reduce) X(relational) X(resample) X(rounding) X(row_norm) X(rows) X(trigonometrics) X(update)
/* clang-format on */

#define HT_CUDA_ADDS(file) void ht_cuda_add_##file(ht_backend *backend);
HT_CUDA_FILES(HT_CUDA_ADDS)
#undef HT_CUDA_ADDS

/* Adds a kernel, if this libht has its name. */
void ht_cuda_add(ht_backend *backend, const char *name, ht_dtype dtype, ht_kernel_fn *run);

void ht_cuda_add_conversion(ht_backend *backend, ht_dtype to, ht_dtype from, ht_kernel_fn *run);

void ht_cuda_add_kernels(ht_backend *backend);

HT_END_DECLS
#endif
