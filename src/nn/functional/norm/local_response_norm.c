/* SPDX-License-Identifier: MIT
 *
 * Normalisation by the squares of neighbouring channels, by differentiable operations. */
#include "ht/arithmetics.h"
#include "ht/exponential.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "ht/normalisation.h"
#include "nn/functional/functional.h"

static const ht_operand_rule rules[] = {
    {"x", "NCL*", HT_DTYPE_FLOATING, HT_SPLIT_BATCH, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_REQUIRED},
};

/* The sum over `size` channels from c - size / 2 on, for each channel c of squares. */
static ht_tensor *windows(ht_tensor *squares, int64_t size)
{
    int64_t widths[2 * HT_MAX_NDIM] = {size / 2, (size - 1) / 2};
    const int ndim = squares != NULL ? squares->body->ndim : 2;
    const int64_t channels = squares != NULL ? squares->body->shape[1] : 0;
    ht_tensor *padded = ht_pad(squares, 2 * (ndim - 1), widths, HT_NUM(0)), *sum = NULL;

    for (int64_t j = 0; j < size && padded != NULL; j++) {
        ht_tensor *part = ht_narrow(padded, 1, j, j + channels);

        sum = j == 0 ? part : ht_add(sum, part);
    }
    return sum;
}

ht_tensor *ht_local_response_norm(ht_tensor *x, int64_t size, double alpha, double beta, double k)
{
    ht_tensor *base, *wide;

    if (!HT_PREPARE("ht_local_response_norm", rules, &x))
        return NULL;
    if (size < 1) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                "ht_local_response_norm: size is %lld, expected at least 1", (long long)size);
        return NULL;
    }
    HT_NAMED("ht_local_response_norm");
    wide = ht__wide(x);
    base = ht_mul_scalar(windows(ht_square(wide), size), alpha / (double)size);
    return ht_astype(ht_div(wide, ht_pow(ht_add_scalar(base, k), ht_scalar(beta))), x->body->dtype);
}
