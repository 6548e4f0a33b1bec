/* SPDX-License-Identifier: MIT
 *
 * Template at the end of a topic's: kernels of its ROWS (backends/cpu/elementwise/rows.inc.c says
 * what a row is). */

#if HT_IS_COMPLEX
#define ROW_Ps(op, arguments) ROW(1, HT_REAL_TYPE, (HT_REAL_TYPE), op, arguments)
#else
#define ROW_Ps(op, arguments) ROW(1, T, STORE, op, arguments)
#endif

/* clang-format off */
#define ROW(count, result, store, op, arguments) \
    struct NAME(row_##op) { \
        typedef result out; \
        typedef T in0, in1, in2; \
        enum { inputs = count }; \
        static __forceinline__ __device__ out apply(T x, T y, T z, const double param[]) \
        { \
            const C a = LOAD(x), b = LOAD(y), c = LOAD(z); \
            const PARAM p[HT_LOOP_PARAMS] = { \
                (PARAM)param[0], (PARAM)param[1], (PARAM)param[2], (PARAM)param[3]}; \
            (void)a, (void)b, (void)c, (void)p; \
            return store(NAME(op) arguments); \
        } \
    };
#define ROW_Ss(op, arguments)   ROW(1, T, STORE, op, arguments)
#define ROW_Bs(op, arguments)   ROW(1, uint8_t, (uint8_t), op, arguments)
#define ROW_Sss(op, arguments)  ROW(2, T, STORE, op, arguments)
#define ROW_Bss(op, arguments)  ROW(2, uint8_t, (uint8_t), op, arguments)
#define ROW_Ssss(op, arguments) ROW(3, T, STORE, op, arguments)
#define ROW_OF(operands, op, arguments) ROW_##operands(op, arguments)
/* clang-format on */
ROWS(ROW_OF)

static void NAME(add_rows)(ht_backend *backend)
{
#define ADD_ROW(operands, op, arguments) \
    ht_cuda_add(backend, #op, ID, ht_cuda_run_row<NAME(row_##op)>);
    ROWS(ADD_ROW)
#undef ADD_ROW
    (void)backend;
}

#undef ROWS
#undef ROW
#undef ROW_Ss
#undef ROW_Bs
#undef ROW_Ps
#undef ROW_Sss
#undef ROW_Bss
#undef ROW_Ssss
#undef ROW_OF
