/* SPDX-License-Identifier: MIT
 *
 * The draws as the table has them: by dtype to the templates of random.inc.c. */
#include "backends/cpu/level.h"
#include "backends/cpu/random/walk.h"

#define HT_TEMPLATE "backends/cpu/random/random.inc.c"
#include "backends/cpu/foreach_dtype.h"

static int random_draw(const char *what, random_fill_fn *const fill[], const ht_random *draw,
                       bool wide, void *out)
{
    if (fill[draw->dtype] == NULL)
        return ht__kernel_bad_dtype(what, draw->dtype);
    return random_walk(draw, fill[draw->dtype], wide ? 2 : 1, out);
}

static int random_uniform(void *stream, const ht_random *draw, void *out)
{
    static random_fill_fn *const fill[HT_DTYPE_COUNT] = BY_FLOATING_DTYPE(uniform);

    (void)stream;
    return random_draw("uniform numbers", fill, draw, draw->dtype == HT_FLOAT64, out);
}

static int random_normal(void *stream, const ht_random *draw, void *out)
{
    static random_fill_fn *const fill[HT_DTYPE_COUNT] = BY_FLOATING_DTYPE(normal);

    (void)stream;
    return random_draw("normal numbers", fill, draw, draw->dtype == HT_FLOAT64, out);
}

static int random_integer(void *stream, const ht_random *draw, void *out)
{
    static random_fill_fn *const fill[HT_DTYPE_COUNT] = {
        [HT_BOOL] = integer_HT_BOOL,       [HT_UINT8] = integer_HT_UINT8,
        [HT_INT8] = integer_HT_INT8,       [HT_INT16] = integer_HT_INT16,
        [HT_INT32] = integer_HT_INT32,     [HT_INT64] = integer_HT_INT64,
        [HT_FLOAT16] = integer_HT_FLOAT16, [HT_BFLOAT16] = integer_HT_BFLOAT16,
        [HT_FLOAT32] = integer_HT_FLOAT32, [HT_FLOAT64] = integer_HT_FLOAT64,
    };

    (void)stream;
    return random_draw("integers", fill, draw, true, out);
}

void HT_LEVEL_NAME(ht__fill_random)(ht_kernels *k)
{
    k->random[HT_RANDOM_UNIFORM] = random_uniform;
    k->random[HT_RANDOM_NORMAL] = random_normal;
    k->random[HT_RANDOM_INTEGER] = random_integer;
}
