/* SPDX-License-Identifier: MIT
 *
 * Reading and writing rows at indices, and weighted sums of rows. Kernels that only move elements
 * are chosen by the size of an element, not by its dtype. */
#include "backends/cpu/level.h"
#include "backends/cpu/index/place.h"
#include "backends/cpu/row_walk.h"

/* Writes n elements; steps are in elements. */
typedef void line_fn(void *to, int64_t to_step, const void *from, int64_t from_step, int64_t n);

static int walk_rows(const ht_index_call *c, int x_side, size_t size, line_fn *line)
{
    const size_t sizes[2] = {size, size};
    const int other = 1 - x_side, last = c->loop.ndim - 1;
    ht_loop loop = c->loop;
    row_walk walk;
    int64_t place;

    for (int64_t row = 0; row < c->rows; row++) {
        if (!ht__find_place(c, row, &place))
            continue;
        loop.operand[x_side].data = (char *)c->loop.operand[x_side].data + place * (int64_t)size;
        loop.operand[other].data = (char *)c->loop.operand[other].data +
                                   row * c->row_step * (int64_t)size;
        for (bool more = row_walk_begin(&walk, &loop); more; more = row_walk_next(&walk, 2, sizes))
            line(walk.at[0], loop.stride[0][last], walk.at[1], loop.stride[1][last],
                 loop.shape[last]);
    }
    return 0;
}

static bool is_single(const ht_loop *loop)
{
    return loop->ndim == 1 && loop->shape[0] == 1;
}

static bool is_dense(const ht_loop *loop)
{
    return loop->ndim == 1 && loop->stride[0][0] == 1 && loop->stride[1][0] == 1;
}

enum {
    AHEAD = 16
}; /* rows whose places are requested before their turn, because they may lie anywhere */

HT_INLINE void prefetch_place(const ht_index_call *c, int64_t row, const void *x, size_t size)
{
    int64_t place;

    if (row < c->rows && ht__find_place(c, row, &place))
        __builtin_prefetch((const char *)x + place * (int64_t)size);
}

/* Rows without gaps. */
static int move_dense(const ht_index_call *c, int x_side, size_t size)
{
    const size_t bytes = (size_t)c->loop.shape[0] * size;
    char *x = c->loop.operand[x_side].data, *rows = c->loop.operand[1 - x_side].data;
    int64_t place;

    for (int64_t row = 0; row < c->rows; row++) {
        char *values = rows + row * c->row_step * (int64_t)size;

        prefetch_place(c, row + AHEAD, x, size);
        if (!ht__find_place(c, row, &place))
            continue;
        if (x_side == 0)
            memcpy(x + place * (int64_t)size, values, bytes);
        else
            memcpy(values, x + place * (int64_t)size, bytes);
    }
    return 0;
}

#define DTYPE HT_UINT8
#include "backends/cpu/index/move.inc.c"
#undef DTYPE
#define DTYPE HT_INT16
#include "backends/cpu/index/move.inc.c"
#undef DTYPE
#define DTYPE HT_INT32
#include "backends/cpu/index/move.inc.c"
#undef DTYPE
#define DTYPE HT_INT64
#include "backends/cpu/index/move.inc.c"
#undef DTYPE
#define DTYPE HT_COMPLEX128
#include "backends/cpu/index/move.inc.c"
#undef DTYPE

#define HT_TEMPLATE "backends/cpu/index/add.inc.c"
#include "backends/cpu/foreach_dtype.h"

#define HT_TEMPLATE "backends/cpu/index/resample.inc.c"
#include "backends/cpu/foreach_dtype.h"

void HT_LEVEL_NAME(ht__fill_rows_by_index)(ht_kernel_table *k)
{
/* Kernels that only move elements are those of `like`, a dtype of the same size. */
#define FILL(dtype, like)                       \
    k->at[HT_KERNEL_TAKE][dtype] = take_##like; \
    k->at[HT_KERNEL_PUT][dtype] = put_##like;   \
    k->at[HT_KERNEL_PUT_ADD][dtype] = put_add_##dtype
    FILL(HT_BOOL, HT_UINT8);
    FILL(HT_UINT8, HT_UINT8);
    FILL(HT_INT8, HT_UINT8);
    FILL(HT_INT16, HT_INT16);
    FILL(HT_FLOAT16, HT_INT16);
    FILL(HT_BFLOAT16, HT_INT16);
    FILL(HT_INT32, HT_INT32);
    FILL(HT_FLOAT32, HT_INT32);
    FILL(HT_INT64, HT_INT64);
    FILL(HT_FLOAT64, HT_INT64);
    FILL(HT_COMPLEX64, HT_INT64);
    FILL(HT_COMPLEX128, HT_COMPLEX128);
#define FILL_FLOATING(dtype)                                             \
    k->at[HT_KERNEL_RESAMPLE_FORWARD][dtype] = resample_forward_##dtype; \
    k->at[HT_KERNEL_RESAMPLE_BACKWARD][dtype] = resample_backward_##dtype;
    HT_FLOATING_LIST(FILL_FLOATING)
}
