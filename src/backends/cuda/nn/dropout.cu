/* SPDX-License-Identifier: MIT
 *
 * Dropout, with the CPU's masks. */
#include "backends/cuda/kernels.h"
#include "backends/cuda/random/philox.h"
#include "backends/cuda/scratch.h"
#include "ht/kernels/nn.h"

#include "backends/cuda/dtypes.h"

/* Kept where a uniform float of the same word would be at least p = draw.a. */
static __global__ void draw_mask(int64_t work, ht_cuda_draw d, uint8_t *mask)
{
    const int32_t threshold = (int32_t)ceil(d.draw.a * 0x1p24);

    HT_CUDA_EACH(i, work)
    {
        ht_cuda_each_drawn(d, i, [&](int64_t e, const ht_cuda_words &words, int at) {
            mask[e] = (int32_t)(words.at[at] >> 8) >= threshold;
        });
    }
}

#define HT_TEMPLATE "backends/cuda/nn/dropout.inc.cu"
#include "backends/cuda/foreach_floating.h"

#define ADD(dtype) add_dropout_##dtype(backend);

void ht_cuda_add_dropout(ht_backend *backend)
{
    HT_FLOATING_LIST(ADD)
}
