/* SPDX-License-Identifier: MIT
 *
 * Template inside the others: folds by an associative step over accumulators of type ACC. GET makes
 * accumulators from elements, and PUT stores them as OUT. PUT_ROW stores a row of m accumulators,
 * of PUT_BYTES each; it may read `r` and the fold's `kind`. If `neutral` is set, a fold starts with
 * NEUTRAL (0 if that is not defined), else with its first element. */

#ifndef NEUTRAL
#define NEUTRAL 0
#endif

#ifndef PUT_ROW
#define PUT_BYTES sizeof(OUT)
#define PUT_ROW(y, ys, m)           \
    for (int64_t k = 0; k < m; k++) \
    ((OUT *)(y))[k * (ys)] = PUT(acc[k])
#endif

/* acc (n) = step(acc (n), x (n)) */
HT_INLINE void FOLD(fold_row)(ACC *acc, const T *x, int64_t n, int64_t stride,
                              ACC (*step)(ACC, ACC))
{
    if (stride == 1) {
        HT_VECTORIZE
        for (int64_t j = 0; j < n; j++)
            acc[j] = step(acc[j], GET(x[j]));
    } else {
        for (int64_t j = 0; j < n; j++)
            acc[j] = step(acc[j], GET(x[j * stride]));
    }
}

/* acc (HT_REDUCE_WIDE), kept in registers from one call to the next if KEEP_LANES is defined. */
HT_INLINE void FOLD(fold_lanes)(ACC *acc, const T *x, ACC (*step)(ACC, ACC))
{
#ifdef KEEP_LANES
    HT_VECTORIZE
    HT_UNROLL
    for (int64_t j = 0; j < HT_REDUCE_WIDE; j++)
        acc[j] = step(acc[j], GET(x[j]));
#else
    FOLD(fold_row)(acc, x, HT_REDUCE_WIDE, 1, step);
#endif
}

/* One output: element j of a row goes to lane j modulo the number of lanes. */
HT_INLINE ACC FOLD(fold_one)(const ht_loop *inner, ACC (*step)(ACC, ACC), bool neutral)
{
    const int64_t n = row_length(inner), stride = row_stride(inner, 0);
    const size_t sizes[] = {sizeof(T)};
    ACC lane[HT_REDUCE_LANES];
    row_walk walk;
    bool more = row_walk_begin(&walk, inner);
    ACC start = neutral ? NEUTRAL : GET(*(const T *)walk.at[0]);

    for (int j = 0; j < HT_REDUCE_LANES; j++)
        lane[j] = start;
    for (; more; more = row_walk_next(&walk, 1, sizes)) {
        const T *x = (const T *)walk.at[0];
        int64_t i = 0;

        for (; i + HT_REDUCE_LANES <= n; i += HT_REDUCE_LANES)
            FOLD(fold_row)(lane, x + i * stride, HT_REDUCE_LANES, stride, step);
        FOLD(fold_row)(lane, x + i * stride, n - i, stride, step);
    }
    for (int width = HT_REDUCE_LANES / 2; width > 0; width /= 2)
        for (int j = 0; j < width; j++)
            lane[j] = step(lane[j], lane[j + width]);
    return lane[0];
}

/* A block of m outputs: acc (m), their inputs `between` apart. */
HT_INLINE void FOLD(fold_block)(ACC *acc, int64_t m, int64_t between, const ht_loop *inner,
                                ACC (*step)(ACC, ACC), bool neutral)
{
    const int64_t n = row_length(inner), stride = row_stride(inner, 0);
    const size_t sizes[] = {sizeof(T)};
    const T *first = inner->operand[0].data;
    row_walk walk;

    for (int64_t j = 0; j < m; j++)
        acc[j] = neutral ? NEUTRAL : GET(first[j * between]);
    for (bool more = row_walk_begin(&walk, inner); more; more = row_walk_next(&walk, 1, sizes))
        for (int64_t i = 0; i < n; i++)
            FOLD(fold_row)(acc, (const T *)walk.at[0] + i * stride, m, between, step);
}

/* m outputs side by side, their rows end to end: element j goes to lane j modulo m times as many
 * rows as there are lanes for. */
HT_INLINE void FOLD(fold_narrow)(ACC *acc, int64_t m, const ht_loop *inner, ACC (*step)(ACC, ACC),
                                 bool neutral)
{
    const int64_t n = row_length(inner) * m, width = HT_REDUCE_WIDE / m * m;
    const size_t sizes[] = {sizeof(T)};
    const T *first = inner->operand[0].data;
    ACC lane[HT_REDUCE_WIDE];
    row_walk walk;

    for (int64_t j = 0; j < width; j++)
        lane[j] = neutral ? NEUTRAL : j < m ? GET(first[j]) : lane[j - m];
    for (bool more = row_walk_begin(&walk, inner); more; more = row_walk_next(&walk, 1, sizes)) {
        const T *x = (const T *)walk.at[0];
        int64_t i = 0;

        for (; width == HT_REDUCE_WIDE && i + HT_REDUCE_WIDE <= n; i += HT_REDUCE_WIDE)
            FOLD(fold_lanes)(lane, x + i, step);
        for (; i < n; i += width)
            FOLD(fold_row)(lane, x + i, n - i < width ? n - i : width, 1, step);
    }
    for (int64_t j = 0; j < m; j++)
        acc[j] = lane[j];
    for (int64_t k = m; k < width; k += m)
        for (int64_t j = 0; j < m; j++)
            acc[j] = step(acc[j], lane[k + j]);
}

HT_INLINE int FOLD(fold)(const ht_reduction *r, ACC (*step)(ACC, ACC), bool neutral, int kind)
{
    const int64_t n = row_length(&r->loop), ys = row_stride(&r->loop, 0);
    const int64_t xs = row_stride(&r->loop, 1), block = reduce_block(r);
    const bool narrow = reduce_narrow(r) > 0;
    const size_t sizes[] = {PUT_BYTES, sizeof(T)};
    ht_loop inner = reduce_inner(r);
    ACC acc[HT_REDUCE_BLOCK];
    row_walk walk;

    (void)kind;
    for (bool more = row_walk_begin(&walk, &r->loop); more; more = row_walk_next(&walk, 2, sizes)) {
        for (int64_t i = 0; i < n; i += block) {
            int64_t m = n - i < block ? n - i : block;

            inner.operand[0].data = walk.at[1] + i * xs * (int64_t)sizeof(T);
            if (narrow)
                FOLD(fold_narrow)(acc, m, &inner, step, neutral);
            else if (block == 1)
                acc[0] = FOLD(fold_one)(&inner, step, neutral);
            else
                FOLD(fold_block)(acc, m, xs, &inner, step, neutral);
            PUT_ROW(walk.at[0] + i * ys * (int64_t)PUT_BYTES, ys, m);
        }
    }
    return 0;
}

#undef FOLD
#undef NEUTRAL
#undef KEEP_LANES
#undef ACC
#undef OUT
#undef PUT
#undef PUT_ROW
#undef PUT_BYTES
#undef GET
