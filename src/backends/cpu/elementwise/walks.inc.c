/* SPDX-License-Identifier: MIT
 *
 * Template inside rows.inc.c: walks over rows, by the type of the result. A number, and an operand
 * that is broadcast along the row, have stride 0. */

/* y (n) = f(a (n), p), row by row. */
HT_INLINE int WALK(walk1)(const ht_kernel_call *call, RESULT_C (*f)(C, const PARAM[]))
{
    const ht_loop *loop = (const ht_loop *)call;
    const int64_t n = row_length(loop), ys = row_stride(loop, 0), as = row_stride(loop, 1);
    const PARAM p[HT_LOOP_PARAMS] = ROW_PARAMS(loop);
    const size_t sizes[] = {sizeof(RESULT), sizeof(T)};
    row_walk walk;

    for (bool more = row_walk_begin(&walk, loop); more; more = row_walk_next(&walk, 2, sizes)) {
        RESULT *y = (RESULT *)walk.at[0];
        const T *a = (const T *)walk.at[1];

        if (ys == 1 && as == 1) {
            HT_VECTORIZE
            for (int64_t i = 0; i < n; i++)
                y[i] = RESULT_STORE(f(LOAD(a[i]), p));
        } else {
            for (int64_t i = 0; i < n; i++)
                y[i * ys] = RESULT_STORE(f(LOAD(a[i * as]), p));
        }
    }
    return 0;
}

/* y (n) = f(a (n), b (n), p). */
HT_INLINE int WALK(walk2)(const ht_kernel_call *call, RESULT_C (*f)(C, C, const PARAM[]))
{
    const ht_loop *loop = (const ht_loop *)call;
    const int64_t n = row_length(loop), ys = row_stride(loop, 0);
    const int64_t as = row_stride(loop, 1), bs = row_stride(loop, 2);
    const PARAM p[HT_LOOP_PARAMS] = ROW_PARAMS(loop);
    const size_t sizes[] = {sizeof(RESULT), sizeof(T), sizeof(T)};
    row_walk walk;

    for (bool more = row_walk_begin(&walk, loop); more; more = row_walk_next(&walk, 3, sizes)) {
        RESULT *y = (RESULT *)walk.at[0];
        const T *a = (const T *)walk.at[1], *b = (const T *)walk.at[2];

        if (ys == 1 && as == 1 && bs == 1) {
            HT_VECTORIZE
            for (int64_t i = 0; i < n; i++)
                y[i] = RESULT_STORE(f(LOAD(a[i]), LOAD(b[i]), p));
        } else if (ys == 1 && as == 1 && bs == 0) {
            const C scalar = LOAD(*b);
            HT_VECTORIZE
            for (int64_t i = 0; i < n; i++)
                y[i] = RESULT_STORE(f(LOAD(a[i]), scalar, p));
        } else if (ys == 1 && as == 0 && bs == 1) {
            const C scalar = LOAD(*a);
            HT_VECTORIZE
            for (int64_t i = 0; i < n; i++)
                y[i] = RESULT_STORE(f(scalar, LOAD(b[i]), p));
        } else {
            for (int64_t i = 0; i < n; i++)
                y[i * ys] = RESULT_STORE(f(LOAD(a[i * as]), LOAD(b[i * bs]), p));
        }
    }
    return 0;
}

/* y (n) = f(a (n), b (n), c (n), p). */
HT_INLINE int WALK(walk3)(const ht_kernel_call *call, RESULT_C (*f)(C, C, C, const PARAM[]))
{
    const ht_loop *loop = (const ht_loop *)call;
    const int64_t n = row_length(loop), ys = row_stride(loop, 0), as = row_stride(loop, 1);
    const int64_t bs = row_stride(loop, 2), cs = row_stride(loop, 3);
    const PARAM p[HT_LOOP_PARAMS] = ROW_PARAMS(loop);
    const size_t sizes[] = {sizeof(RESULT), sizeof(T), sizeof(T), sizeof(T)};
    row_walk walk;

    for (bool more = row_walk_begin(&walk, loop); more; more = row_walk_next(&walk, 4, sizes)) {
        RESULT *y = (RESULT *)walk.at[0];
        const T *a = (const T *)walk.at[1], *b = (const T *)walk.at[2];
        const T *c = (const T *)walk.at[3];

        if (ys == 1 && as == 1 && bs == 1 && cs == 1) {
            HT_VECTORIZE
            for (int64_t i = 0; i < n; i++)
                y[i] = RESULT_STORE(f(LOAD(a[i]), LOAD(b[i]), LOAD(c[i]), p));
        } else if (ys == 1 && as == 1 && bs == 0 && cs == 0) {
            const C second = LOAD(*b), third = LOAD(*c);
            HT_VECTORIZE
            for (int64_t i = 0; i < n; i++)
                y[i] = RESULT_STORE(f(LOAD(a[i]), second, third, p));
        } else {
            for (int64_t i = 0; i < n; i++)
                y[i * ys] = RESULT_STORE(f(LOAD(a[i * as]), LOAD(b[i * bs]), LOAD(c[i * cs]), p));
        }
    }
    return 0;
}

#undef RESULT
#undef RESULT_C
#undef RESULT_STORE
#undef WALK
