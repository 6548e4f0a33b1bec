/* SPDX-License-Identifier: MIT
 *
 * Template: elementwise functions of three operands. A new one is a row of HT_TERNARY_KERNELS, an
 * inline function here, named as the row, and in the lists of the dtypes that have it what it is
 * called with: operands a, b and c and, of ht_loop.param, the p that it takes. */

#if HT_IS_INTEGER || HT_IS_FLOAT
#define TERNARY_LIST(X) X(CLIP, (a, b, c))
#else
#define TERNARY_LIST(X)
#endif

#if HT_IS_INTEGER || HT_IS_FLOAT
/* Written so that NaN stays NaN, whichever operand it is. */
HT_INLINE C NAME(CLIP)(C x, C low, C high)
{
    C y = low > x || (HT_IS_FLOAT && isnan((double)low)) ? low : x;

    return high < y || (HT_IS_FLOAT && isnan((double)high)) ? high : y;
}
#endif

/* y (n) = f(a (n), b (n), c (n), p), row by row; an operand that is broadcast along the row has
 * stride 0, as numbers beside a tensor have. */
HT_INLINE int NAME(ternary)(const ht_kernel_call *call, C (*f)(C, C, C, const PARAM[]))
{
    const ht_loop *loop = (const ht_loop *)call;
    const int64_t n = row_length(loop), ys = row_stride(loop, 0), as = row_stride(loop, 1);
    const int64_t bs = row_stride(loop, 2), cs = row_stride(loop, 3);
    const PARAM p[HT_LOOP_PARAMS] = ROW_PARAMS(loop);
    const size_t sizes[] = {sizeof(T), sizeof(T), sizeof(T), sizeof(T)};
    row_walk walk;

    for (bool more = row_walk_begin(&walk, loop); more; more = row_walk_next(&walk, 4, sizes)) {
        T *y = (T *)walk.at[0];
        const T *a = (const T *)walk.at[1], *b = (const T *)walk.at[2];
        const T *c = (const T *)walk.at[3];

        if (ys == 1 && as == 1 && bs == 1 && cs == 1) {
            HT_VECTORIZE
            for (int64_t i = 0; i < n; i++)
                y[i] = STORE(f(LOAD(a[i]), LOAD(b[i]), LOAD(c[i]), p));
        } else if (ys == 1 && as == 1 && bs == 0 && cs == 0) {
            const C second = LOAD(*b), third = LOAD(*c);
            HT_VECTORIZE
            for (int64_t i = 0; i < n; i++)
                y[i] = STORE(f(LOAD(a[i]), second, third, p));
        } else {
            for (int64_t i = 0; i < n; i++)
                y[i * ys] = STORE(f(LOAD(a[i * as]), LOAD(b[i * bs]), LOAD(c[i * cs]), p));
        }
    }
    return 0;
}

/* A row's function as the walk calls it, and its kernel. */
/* clang-format off */
#define TERNARY_LOOP(op, arguments) \
    HT_INLINE C NAME(row_##op)(C a, C b, C c, const PARAM p[]) { (void)p; return NAME(op) arguments; } \
    HT_KERNEL(ternary_##op) { (void)stream; return NAME(ternary)(call, NAME(row_##op)); }
/* clang-format on */
TERNARY_LIST(TERNARY_LOOP)
#undef TERNARY_LOOP

static void NAME(fill_ternary)(ht_kernel_table *k)
{
#define TERNARY_ROW(op, arguments) k->at[HT_KERNEL_##op][ID] = NAME(ternary_##op);
    TERNARY_LIST(TERNARY_ROW)
#undef TERNARY_ROW
    (void)k;
}

#undef TERNARY_LIST
