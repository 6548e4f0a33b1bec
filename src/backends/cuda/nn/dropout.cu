/* SPDX-License-Identifier: MIT
 *
 * Dropout, with the CPU's masks. */
#include "backends/cuda/kernels.h"
#include "backends/cuda/random/philox.h"
#include "backends/cuda/scratch.h"
#include "ht/kernels/nn.h"

#include "backends/cuda/dtypes.h"

static __global__ void draw_mask(int64_t work, ht_cuda_draw<1> d, uint8_t *mask)
{
    HT_CUDA_EACH(i, work)
    {
        ht_cuda_each_drawn(d, i, [&](int64_t e, const ht_cuda_words &words, int at) {
            mask[e] = ht_cuda_keeps(words.at[at], d.draw.a);
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
