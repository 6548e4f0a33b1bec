/* SPDX-License-Identifier: MIT
 *
 * Products of matrices that lie in memory of their own. */
#include "core/ops/ops.h"
#include "ht/kernels/nn.h"

ht_status ht__gemm(const char *what, const ht_tensor *c, ht_gemm_call *job)
{
    const bool half = ht_dtype_is_floating(c->body->dtype) &&
                      ht_dtype_size(c->body->dtype) < sizeof(float);

    job->compute = half ? HT_FLOAT32 : c->body->dtype;
    job->batch = job->batch > 0 ? job->batch : 1;
    return HT_RUN(c, HT_KERNEL_GEMM, job, what);
}
