/* SPDX-License-Identifier: MIT
 *
 * Template: the extreme value and its position inside the reduced axes, the first of equal
 * elements. It walks like reduce/fold.inc.c, with a position for each accumulator. */

#if !HT_IS_COMPLEX
#include "backends/cpu/reduce/better.inc.c"

typedef bool NAME(better_fn)(C x, C best);

/* Element j of the row has the position first + j * between_positions. */
HT_INLINE void NAME(arg_row)(C *best, int64_t *position, const T *x, int64_t n, int64_t stride,
                             int64_t first, int64_t between_positions, NAME(better_fn) * better)
{
    HT_VECTORIZE
    for (int64_t j = 0; j < n; j++) {
        C value = LOAD(x[j * stride]);
        bool take = better(value, best[j]);

        best[j] = take ? value : best[j];
        position[j] = take ? first + j * between_positions : position[j];
    }
}

/* Keeps the better of two lanes in the first: by value, then by position, because a lane may have
 * found the later of two equal elements. */
HT_INLINE void NAME(arg_merge)(C *best, int64_t *position, int64_t into, int64_t from,
                               NAME(better_fn) * better)
{
    bool equal = !better(best[from], best[into]) && !better(best[into], best[from]);

    if (better(best[from], best[into]) || (equal && position[from] < position[into])) {
        best[into] = best[from];
        position[into] = position[from];
    }
}

/* Every lane starts with the first element, at position 0. */
HT_INLINE void NAME(arg_one)(C *best, int64_t *position, const ht_loop *inner,
                             NAME(better_fn) * better)
{
    const int64_t n = row_length(inner), stride = row_stride(inner, 0);
    const size_t sizes[] = {sizeof(T)};
    int64_t done = 0;
    row_walk walk;

    for (int j = 0; j < HT_REDUCE_LANES; j++) {
        best[j] = LOAD(*(const T *)inner->operand[0].data);
        position[j] = 0;
    }
    for (bool more = row_walk_begin(&walk, inner); more; more = row_walk_next(&walk, 1, sizes)) {
        const T *x = (const T *)walk.at[0];

        for (int64_t i = 0; i < n; i += HT_REDUCE_LANES) {
            int64_t m = n - i < HT_REDUCE_LANES ? n - i : HT_REDUCE_LANES;

            if (stride == 1)
                NAME(arg_row)(best, position, x + i, m, 1, done + i, 1, better);
            else
                NAME(arg_row)(best, position, x + i * stride, m, stride, done + i, 1, better);
        }
        done += n;
    }
    for (int j = 1; j < HT_REDUCE_LANES; j++)
        NAME(arg_merge)(best, position, 0, j, better);
}

/* m outputs side by side, as fold_narrow; rows end to end, where element j is in row j / m. */
HT_INLINE void NAME(arg_narrow)(C *best, int64_t *position, int64_t m, const ht_loop *inner,
                                NAME(better_fn) * better)
{
    const int64_t n = row_length(inner) * m, width = HT_REDUCE_WIDE / m * m;
    const size_t sizes[] = {sizeof(T)};
    int64_t done = 0;
    row_walk walk;

    for (int64_t j = 0; j < width; j++) {
        best[j] = LOAD(((const T *)inner->operand[0].data)[j % m]);
        position[j] = j % m;
    }
    for (bool more = row_walk_begin(&walk, inner); more; more = row_walk_next(&walk, 1, sizes)) {
        const T *x = (const T *)walk.at[0];

        for (int64_t i = 0; i < n; i += width)
            NAME(arg_row)
        (best, position, x + i, n - i < width ? n - i : width, 1, done + i, 1, better);
        done += n;
    }
    for (int64_t j = m; j < width; j++)
        NAME(arg_merge)(best, position, j % m, j, better);
    for (int64_t j = 0; j < m; j++)
        position[j] /= m;
}

HT_INLINE void NAME(arg_block)(C *best, int64_t *position, int64_t m, int64_t between,
                               const ht_loop *inner, NAME(better_fn) * better)
{
    const int64_t n = row_length(inner), stride = row_stride(inner, 0);
    const size_t sizes[] = {sizeof(T)};
    const T *first = inner->operand[0].data;
    int64_t done = 0;
    row_walk walk;

    for (int64_t j = 0; j < m; j++) {
        best[j] = LOAD(first[j * between]);
        position[j] = 0;
    }
    for (bool more = row_walk_begin(&walk, inner); more; more = row_walk_next(&walk, 1, sizes))
        for (int64_t i = 0; i < n; i++, done++) {
            const T *x = (const T *)walk.at[0] + i * stride;

            if (between == 1)
                NAME(arg_row)(best, position, x, m, 1, done, 0, better);
            else
                NAME(arg_row)(best, position, x, m, between, done, 0, better);
        }
}

HT_INLINE int NAME(arg)(const ht_reduction *r, NAME(better_fn) * better)
{
    const int64_t n = row_length(&r->loop), xs = row_stride(&r->loop, 1);
    const int64_t block = reduce_block(r);
    const bool narrow = reduce_narrow(r) > 0;
    const size_t sizes[] = {sizeof(T), sizeof(T), sizeof(int64_t)};
    ht_loop inner = reduce_inner(r);
    C best[HT_REDUCE_BLOCK];
    int64_t position[HT_REDUCE_BLOCK];
    row_walk walk;

    for (bool more = row_walk_begin(&walk, &r->loop); more; more = row_walk_next(&walk, 3, sizes)) {
        for (int64_t i = 0; i < n; i += block) {
            int64_t m = n - i < block ? n - i : block;

            inner.operand[0].data = walk.at[1] + i * xs * (int64_t)sizeof(T);
            if (narrow)
                NAME(arg_narrow)(best, position, m, &inner, better);
            else if (block == 1)
                NAME(arg_one)(best, position, &inner, better);
            else
                NAME(arg_block)(best, position, m, xs, &inner, better);
            for (int64_t j = 0; j < m; j++) {
                ((T *)walk.at[0])[(i + j) * row_stride(&r->loop, 0)] = STORE(best[j]);
                ((int64_t *)walk.at[2])[(i + j) * row_stride(&r->loop, 2)] = position[j];
            }
        }
    }
    return 0;
}

HT_KERNEL(reduce_ARGMAX)
{
    const ht_reduction *r = (const ht_reduction *)call;

    (void)stream;
    return NAME(arg)(r, NAME(above));
}

HT_KERNEL(reduce_ARGMIN)
{
    const ht_reduction *r = (const ht_reduction *)call;

    (void)stream;
    return NAME(arg)(r, NAME(below));
}
#endif

static void NAME(fill_arg)(ht_kernel_table *k)
{
#if !HT_IS_COMPLEX
    k->at[HT_KERNEL_ARGMAX][ID] = NAME(reduce_ARGMAX);
    k->at[HT_KERNEL_ARGMIN][ID] = NAME(reduce_ARGMIN);
#else
    (void)k;
#endif
}
