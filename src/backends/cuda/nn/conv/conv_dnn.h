/* SPDX-License-Identifier: MIT
 *
 * Convolution by cuDNN. */
#ifndef HT_BACKENDS_CUDA_NN_CONV_DNN_H
#define HT_BACKENDS_CUDA_NN_CONV_DNN_H

#include "backends/cuda/nn/conv/dnn.h"
#include "ht/kernels/nn.h"

/* way: HT_CUDA_FORWARD, HT_CUDA_BACKWARD_DATA, or HT_CUDA_BACKWARD_WEIGHT, which leaves the bias to
 * the caller. 0, 1 after services->fail, or HT_KERNEL_REFUSED. */
int ht_cuda_convolve(ht_cuda_device *device, const ht_conv_call *call, int way);

#endif
