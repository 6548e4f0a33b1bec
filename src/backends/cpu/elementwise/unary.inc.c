/* SPDX-License-Identifier: MIT
 *
 * Template: elementwise functions of one operand. A new one is a row of HT_UNARY_KERNELS, an inline
 * function here, named as the row, and in the lists of the dtypes that have it what it is called
 * with: operand x and, of ht_loop.param, the p that it takes. */

/* clang-format off */
#if HT_IS_INTEGER
#define UNARY_LIST(X) X(NEG, (x)) X(RELU, (x))
#elif HT_IS_FLOAT
#define UNARY_LIST(X) \
    X(NEG, (x)) X(EXP, (x)) X(LOG, (x)) X(SQRT, (x)) X(TANH, (x)) X(RELU, (x)) X(EXPM1, (x)) \
    X(LOG1P, (x))
#elif HT_IS_COMPLEX
#define UNARY_LIST(X) X(NEG, (x)) X(EXP, (x)) X(LOG, (x)) X(SQRT, (x)) X(TANH, (x)) X(CONJ, (x))
#else
#define UNARY_LIST(X)
#endif
/* clang-format on */

HT_INLINE C NAME(NEG)(C x)
{
    return (C) - (WRAP)x;
}

#if !HT_IS_COMPLEX
/* Written so that NaN stays NaN. */
HT_INLINE C NAME(RELU)(C x)
{
    return x <= 0 ? 0 : x;
}
#endif

#if HT_IS_FLOAT || HT_IS_COMPLEX
HT_INLINE C NAME(EXP)(C x)
{
    return HT_MATH(exp, x);
}

HT_INLINE C NAME(LOG)(C x)
{
    return HT_MATH(log, x);
}

HT_INLINE C NAME(SQRT)(C x)
{
    return HT_MATH(sqrt, x);
}

HT_INLINE C NAME(TANH)(C x)
{
    return HT_MATH(tanh, x);
}
#endif

#if HT_IS_FLOAT
HT_INLINE C NAME(EXPM1)(C x)
{
    return HT_REAL_MATH(expm1, x);
}

HT_INLINE C NAME(LOG1P)(C x)
{
    return HT_REAL_MATH(log1p, x);
}
#endif

#if HT_IS_COMPLEX
HT_INLINE C NAME(CONJ)(C x)
{
    return _Generic(x, ht_complex64 : conjf, ht_complex128 : conj)(x);
}
#endif

/* y (n) = f(x (n), p), row by row. */
HT_INLINE int NAME(unary)(const ht_kernel_call *call, C (*f)(C, const PARAM[]))
{
    const ht_loop *loop = (const ht_loop *)call;
    const int64_t n = row_length(loop), ys = row_stride(loop, 0), xs = row_stride(loop, 1);
    const PARAM p[HT_LOOP_PARAMS] = ROW_PARAMS(loop);
    const size_t sizes[] = {sizeof(T), sizeof(T)};
    row_walk walk;

    for (bool more = row_walk_begin(&walk, loop); more; more = row_walk_next(&walk, 2, sizes)) {
        T *y = (T *)walk.at[0];
        const T *x = (const T *)walk.at[1];

        if (ys == 1 && xs == 1) {
            HT_VECTORIZE
            for (int64_t i = 0; i < n; i++)
                y[i] = STORE(f(LOAD(x[i]), p));
        } else {
            for (int64_t i = 0; i < n; i++)
                y[i * ys] = STORE(f(LOAD(x[i * xs]), p));
        }
    }
    return 0;
}

/* A row's function as the walk calls it, and its kernel. */
/* clang-format off */
#define UNARY_LOOP(op, arguments) \
    HT_INLINE C NAME(row_##op)(C x, const PARAM p[]) { (void)p; return NAME(op) arguments; } \
    HT_KERNEL(unary_##op) { (void)stream; return NAME(unary)(call, NAME(row_##op)); }
/* clang-format on */
UNARY_LIST(UNARY_LOOP)
#undef UNARY_LOOP

static void NAME(fill_unary)(ht_kernel_table *k)
{
#define UNARY_ROW(op, arguments) k->at[HT_KERNEL_##op][ID] = NAME(unary_##op);
    UNARY_LIST(UNARY_ROW)
#undef UNARY_ROW
    (void)k;
}

#undef UNARY_LIST
