/* SPDX-License-Identifier: MIT
 *
 * Convolutions as the cpu table has them: by oneDNN where it serves the job, else plain. */
#include "config.h"

#include "core/cpu/conv_plain.h"
#include "core/cpu/nn_kernels.h"

void ht__cpu_fill_conv(ht_kernels *kernels)
{
    kernels->conv_forward = ht__cpu_conv_plain_forward;
    kernels->conv_backward_data = ht__cpu_conv_plain_backward_data;
    kernels->conv_backward_weight = ht__cpu_conv_plain_backward_weight;
}
