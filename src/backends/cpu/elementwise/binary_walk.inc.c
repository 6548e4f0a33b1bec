/* SPDX-License-Identifier: MIT
 *
 * Template inside binary.inc.c: the walk over rows, by the type of the result. */

/* y (n) = f(a (n), b (n), p), row by row; an operand that is broadcast along the row has stride 0.
 */
HT_INLINE int NAME(WALK)(const ht_kernel_call *call, RESULT_C (*f)(C, C, const PARAM[]))
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

#undef RESULT
#undef RESULT_C
#undef RESULT_STORE
#undef WALK
