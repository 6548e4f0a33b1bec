/* SPDX-License-Identifier: MIT
 *
 * Template at the end of a topic's template: the kernels of its ROWS. A row X(operands, NAME, (a,
 * b)) has the letters of the operands, like the row in ht/kernels/elementwise.h. The last item
 * lists the arguments of the inline function NAME(NAME): operands a, b and c, and p for each
 * ht_loop.param that it takes. */

#define RESULT       T
#define RESULT_C     C
#define RESULT_STORE STORE
#define WALK(x)      NAME(x##_same)
#include "backends/cpu/elementwise/walks.inc.c"

#define RESULT          uint8_t
#define RESULT_C        bool
#define RESULT_STORE(x) ((uint8_t)(x))
#define WALK(x)         NAME(x##_bool)
#include "backends/cpu/elementwise/walks.inc.c"

#if HT_IS_COMPLEX
#define RESULT       HT_REAL_TYPE
#define RESULT_C     HT_REAL_TYPE
#define RESULT_STORE (HT_REAL_TYPE)
#define WALK(x)      NAME(x##_real)
#include "backends/cpu/elementwise/walks.inc.c"
#define PART      HT_REAL_TYPE
#define WALK_PART walk1_real
#else
#define PART      C
#define WALK_PART walk1_same
#endif

/* A row's function as the walk calls it, and its kernel. */
/* clang-format off */
#define ROW1(walk, result, op, arguments) \
    HT_INLINE result NAME(row_##op)(C a, const PARAM p[]) { (void)p; return NAME(op) arguments; } \
    HT_KERNEL(kernel_##op) { (void)stream; return NAME(walk)(call, NAME(row_##op)); }
#define ROW2(walk, result, op, arguments) \
    HT_INLINE result NAME(row_##op)(C a, C b, const PARAM p[]) { (void)p; return NAME(op) arguments; } \
    HT_KERNEL(kernel_##op) { (void)stream; return NAME(walk)(call, NAME(row_##op)); }
#define ROW3(walk, result, op, arguments) \
    HT_INLINE result NAME(row_##op)(C a, C b, C c, const PARAM p[]) { (void)p; return NAME(op) arguments; } \
    HT_KERNEL(kernel_##op) { (void)stream; return NAME(walk)(call, NAME(row_##op)); }
#define ROW_Ss(op, arguments)   ROW1(walk1_same, C, op, arguments)
#define ROW_Bs(op, arguments)   ROW1(walk1_bool, bool, op, arguments)
#define ROW_Ps(op, arguments)   ROW1(WALK_PART, PART, op, arguments)
#define ROW_Sss(op, arguments)  ROW2(walk2_same, C, op, arguments)
#define ROW_Bss(op, arguments)  ROW2(walk2_bool, bool, op, arguments)
#define ROW_Ssss(op, arguments) ROW3(walk3_same, C, op, arguments)
#define ROW(operands, op, arguments) ROW_##operands(op, arguments)
/* clang-format on */
ROWS(ROW)

static void NAME(fill_rows)(ht_kernel_table *k)
{
#define FILL_ROW(operands, op, arguments) k->at[HT_KERNEL_##op][ID] = NAME(kernel_##op);
    ROWS(FILL_ROW)
#undef FILL_ROW
    (void)k;
}

#undef ROWS
#undef PART
#undef WALK_PART
#undef ROW1
#undef ROW2
#undef ROW3
#undef ROW_Ss
#undef ROW_Bs
#undef ROW_Ps
#undef ROW_Sss
#undef ROW_Bss
#undef ROW_Ssss
#undef ROW
