/* SPDX-License-Identifier: MIT
 *
 * Template: elementwise functions of one operand. A new one is a row of HT_UNARY_LIST and an inline
 * function here, named as the row. */

#if HT_IS_INTEGER
#define UNARY_LIST(X) X(NEG) X(RELU)
#elif HT_IS_FLOAT
#define UNARY_LIST(X) X(NEG) X(EXP) X(LOG) X(SQRT) X(TANH) X(RELU)
#elif HT_IS_COMPLEX
#define UNARY_LIST(X) X(NEG) X(EXP) X(LOG) X(SQRT) X(TANH) X(CONJ)
#else
#define UNARY_LIST(X)
#endif

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

#if HT_IS_COMPLEX
HT_INLINE C NAME(CONJ)(C x)
{
    return _Generic(x, ht_complex64 : conjf, ht_complex128 : conj)(x);
}
#endif

/* y (n) = f(x (n)), row by row. */
HT_INLINE int NAME(unary)(void *stream, const ht_loop *loop, C (*f)(C))
{
    const int64_t n = row_length(loop), ys = row_stride(loop, 0), xs = row_stride(loop, 1);
    const size_t sizes[] = {sizeof(T), sizeof(T)};
    row_walk walk;

    (void)stream;
    for (bool more = row_walk_begin(&walk, loop); more; more = row_walk_next(&walk, 2, sizes)) {
        T *y = (T *)walk.at[0];
        const T *x = (const T *)walk.at[1];

        if (ys == 1 && xs == 1) {
            HT_VECTORIZE
            for (int64_t i = 0; i < n; i++)
                y[i] = STORE(f(LOAD(x[i])));
        } else {
            for (int64_t i = 0; i < n; i++)
                y[i * ys] = STORE(f(LOAD(x[i * xs])));
        }
    }
    return 0;
}

/* clang-format off */
#define UNARY_LOOP(op) HT_LOOP_KERNEL(unary_##op) { return NAME(unary)(stream, loop, NAME(op)); }
/* clang-format on */
UNARY_LIST(UNARY_LOOP)
#undef UNARY_LOOP

static void NAME(fill_unary)(ht_kernels *k)
{
#define UNARY_ROW(op) k->unary[HT_UNARY_##op][ID] = NAME(unary_##op);
    UNARY_LIST(UNARY_ROW)
#undef UNARY_ROW
    (void)k;
}

#undef UNARY_LIST
