/* SPDX-License-Identifier: MIT
 *
 * Products of matrices that have memory of their own. */
#include "core/ops/ops.h"
#include "ht/kernels/nn.h"

/* The range of memory that a matrix, or each matrix of a batch, occupies. */
static void reach_matrix(ht_kernel_operand *matrix, const ht_gemm_call *job, int64_t rows,
                         int64_t columns, int64_t leading, int64_t step, ht_access access)
{
    ht_reach reach = {0};

    ht__reach_along(&reach, rows, leading);
    ht__reach_along(&reach, columns, 1);
    ht__reach_along(&reach, job->batch, step);
    *matrix = ht__operand_reaching(matrix->data, &reach, (int64_t)ht_dtype_size(job->call.dtype),
                                   access);
}

static void reach_all(ht_gemm_call *job)
{
    const bool ta = job->trans_a, tb = job->trans_b;
    const int64_t m = job->m, n = job->n, k = job->k;

    job->call.operands = 4;
    reach_matrix(&job->a, job, ta ? k : m, ta ? m : k, job->lda, job->a_step, HT_READ);
    reach_matrix(&job->b, job, tb ? n : k, tb ? k : n, job->ldb, job->b_step, HT_READ);
    reach_matrix(&job->c, job, m, n, job->ldc, job->c_step, HT_WRITE);
    job->bias = ht__operand_bytes(job->bias.data, n * (int64_t)ht_dtype_size(job->call.dtype),
                                  HT_READ);
}

ht_status ht__gemm(const char *what, const ht_tensor *c, ht_gemm_call *job)
{
    const bool half = ht_dtype_is_floating(c->body->dtype) &&
                      ht_dtype_size(c->body->dtype) < sizeof(float);

    job->compute = half ? HT_FLOAT32 : c->body->dtype;
    job->batch = job->batch > 0 ? job->batch : 1;
    job->call.dtype = c->body->dtype;
    reach_all(job);
    return HT_RUN(c, HT_KERNEL_GEMM, job, what);
}
