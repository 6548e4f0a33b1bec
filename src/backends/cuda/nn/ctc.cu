/* SPDX-License-Identifier: MIT
 *
 * Connectionist temporal classification. A step reads what the step before it wrote, so each step is a
 * launch, with a thread for each element of each sequence. */
#include "backends/cuda/axes.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/scratch.h"
#include "backends/cuda/fault/targets.h"
#include "backends/cpu/nn/ctc.h"

#include "backends/cuda/dtypes.h"

/* Elements of a step of alpha. */
static __forceinline__ __device__ int64_t width_of(const ht_ctc_call &r)
{
    return 2 * r.width + 1;
}

/* alpha of a step of a row. */
static __forceinline__ __device__ double *alpha_of(const ht_ctc_call &r, int64_t row, int64_t t)
{
    return static_cast<double *>(r.alpha.data) + (row * r.steps + t) * width_of(r);
}

/* bad (rows) <- the first target of a row that is outside of the classes, or 0, which is a class. */
static __global__ void find_bad(int64_t rows, ht_ctc_call r, int64_t *bad)
{
    HT_CUDA_EACH(row, rows)
    {
        const ht_sequence s = ht__sequence_of(&r, row);

        bad[row] = 0;
        for (int64_t i = s.length - 1; i >= 0; i--)
            if (s.target[i] < 0 || s.target[i] >= r.classes)
                bad[row] = s.target[i];
    }
}

static __global__ void note_bad(int64_t rows, ht_cuda_targets bad)
{
    HT_CUDA_EACH(row, rows)
    {
        int64_t column;

        ht_cuda_target(bad, row, &column);
    }
}

/* Rows whose loss counts as 0 are skipped, as those with a bad target are. */
static __global__ void find_losses(int64_t rows, ht_ctc_call r, int64_t *skipped, double *loss)
{
    HT_CUDA_EACH(row, rows)
    {
        const ht_sequence s = ht__sequence_of(&r, row);

        loss[row] = skipped[row] != 0 ? 0 : ht__ctc_loss(&s, alpha_of(r, row, 0), width_of(r));
        if (r.zero_infinity && loss[row] == (double)INFINITY) {
            skipped[row] = 1;
            loss[row] = 0;
        }
    }
}

/* Memory of a call: skipped (rows), loss (rows), and beta (2, rows, elements) of two steps. */
struct ctc_memory {
    int64_t *skipped;
    double *loss, *beta;
};

static ctc_memory memory_of(const ht_cuda_device *device, const ht_ctc_call *r)
{
    const size_t rows = (size_t)r->rows, beta = 2 * rows * (2 * (size_t)r->width + 1);
    char *at = static_cast<char *>(
        ht_cuda_scratch(device, (2 * rows + beta) * sizeof(double), r->call.what));
    ctc_memory m = {};

    m.skipped = reinterpret_cast<int64_t *>(at);
    if (at != NULL) {
        m.loss = reinterpret_cast<double *>(at) + rows;
        m.beta = m.loss + rows;
    }
    return m;
}

#define HT_TEMPLATE "backends/cuda/nn/ctc.inc.cu"
#include "backends/cuda/foreach_floating.h"

#define ADD(dtype) add_ctc_##dtype(backend);

void ht_cuda_add_ctc(ht_backend *backend)
{
    HT_FLOATING_LIST(ADD)
}
