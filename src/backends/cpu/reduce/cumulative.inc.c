/* SPDX-License-Identifier: MIT
 *
 * Template: cumulative sums, accumulated and stored as sums are (reduce.inc.c). */

/* One line along the axis. */
static void NAME(cumsum_line)(const ht_cumulation *c, TOTAL *y, const T *x, SUM sum)
{
    for (int64_t i = 0; i < c->count; i++) {
        sum += (SUM)LOAD(x[i * c->in_stride]);
        y[i * c->out_stride] = TO_TOTAL(sum);
    }
}

/* m neighbouring lines together, step by step. */
static void NAME(cumsum_lines)(const ht_cumulation *c, int64_t m, TOTAL *y, int64_t ys, const T *x,
                               int64_t xs, const SUM *start, int64_t ss)
{
    SUM sum[HT_REDUCE_BLOCK] = {0};

    for (int64_t j = 0; start != NULL && j < m; j++)
        sum[j] = start[j * ss];
    for (int64_t i = 0; i < c->count; i++)
        for (int64_t j = 0; j < m; j++) {
            sum[j] += (SUM)LOAD(x[i * c->in_stride + j * xs]);
            y[i * c->out_stride + j * ys] = TO_TOTAL(sum[j]);
        }
}

static int NAME(cumulative_CUMSUM)(void *stream, const ht_cumulation *c)
{
    const ht_loop *loop = &c->loop;
    const int64_t n = row_length(loop), ys = row_stride(loop, 0), xs = row_stride(loop, 1);
    const int64_t ss = row_stride(loop, 2);
    const bool together = n >= 8 && llabs(xs) < llabs(c->in_stride);
    const int64_t block = together ? HT_REDUCE_BLOCK : 1;
    const int operands = loop->data[2] != NULL ? 3 : 2;
    const size_t sizes[] = {sizeof(TOTAL), sizeof(T), sizeof(SUM)};
    row_walk walk;

    (void)stream;
    for (bool more = row_walk_begin(&walk, loop); more;
         more = row_walk_next(&walk, operands, sizes))
        for (int64_t i = 0; i < n; i += block) {
            TOTAL *y = (TOTAL *)walk.at[0] + i * ys;
            const T *x = (const T *)walk.at[1] + i * xs;
            const SUM *start = operands == 3 ? (const SUM *)walk.at[2] + i * ss : NULL;

            if (together)
                NAME(cumsum_lines)(c, n - i < block ? n - i : block, y, ys, x, xs, start, ss);
            else
                NAME(cumsum_line)(c, y, x, start != NULL ? *start : 0);
        }
    return 0;
}

static void NAME(fill_cumulative)(ht_kernels *k)
{
    k->cumulative[HT_CUMULATIVE_CUMSUM][ID] = NAME(cumulative_CUMSUM);
}
