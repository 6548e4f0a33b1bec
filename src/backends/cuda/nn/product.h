/* SPDX-License-Identifier: MIT
 *
 * Matrix products for other kernels. */
#ifndef HT_BACKENDS_CUDA_NN_PRODUCT_H
#define HT_BACKENDS_CUDA_NN_PRODUCT_H

#include "backends/cuda/device.h"
#include "ht/kernels/nn.h"

/* The product of a floating dtype, between ht_cuda_begin and ht_cuda_end. 0, or 1 after
 * services->fail. */
int ht_cuda_multiply(const ht_cuda_device *device, const ht_gemm_call *g);

#endif
