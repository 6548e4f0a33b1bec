/* SPDX-License-Identifier: MIT
 *
 * The drivers. Each takes one row that has the kernel, the result dtype, and the derivative. */
#ifndef HT_CORE_OPS_DRIVERS_DRIVERS_H
#define HT_CORE_OPS_DRIVERS_DRIVERS_H

#include "core/ops/ops.h"
#include "ht/reduction.h"

/* ---- drivers (driver_*.c) -----------------------------------------------------------------------
 * Each takes one row that says which kernel, which result dtype, and how to differentiate. */
typedef enum ht_result {
    HT_RESULT_SAME,
    HT_RESULT_FLOAT, /* integers and bool are computed in float32 */
    HT_RESULT_BOOL,
    HT_RESULT_REAL /* of complex numbers the dtype of their parts */
} ht_result;

/* For a node: its backward function finds the numbers of the call, where there were any, at
 * ht_node_context(node, 0). */
static inline void ht__keep_params(ht_node *node, const ht_params *params)
{
    if (params != NULL)
        *(ht_params *)ht_node_context(node, sizeof *params) = *params;
}

typedef struct ht_unary_op {
    const char *name;
    ht_kernel kernel;
    ht_result result;
    enum { HT_SAVE_NOTHING, HT_SAVE_INPUT, HT_SAVE_OUTPUT } save;
    ht_backward_fn *backward; /* saved tensor 0 is what `save` says */
    bool twice;               /* the kernel has two operands, which are both x */
    /* The same y and f'(x), which is then saved alone, where the device has this kernel; 0: none. */
    ht_kernel slope;
} ht_unary_op;
ht_tensor *ht__unary(const ht_unary_op *op, ht_tensor *x);
/* params: NULL for none. */
ht_tensor *ht__unary_with(const ht_unary_op *op, ht_tensor *x, const ht_params *params);
/* In place, as `what`, in the graph as the operation is. HT_ERR_DTYPE where x cannot hold the
 * result. */
ht_status ht__unary_(const ht_unary_op *op, const char *what, ht_tensor *x,
                     const ht_params *params);

/* Two or three operands, which broadcast. A dtype is unsupported if its list of kernels lacks it.
 */
enum { HT_BROADCAST_OPERANDS = 3 };

typedef struct ht_broadcast_op {
    const char *name;
    ht_kernel kernel;
    ht_result result;
    bool save_operands; /* saved tensors 0, 1 (and 2), numbers as tensors in the computation's dtype
                         */
    bool masked;        /* the first operand is bool, has no say in the dtype, and is saved alone */
    ht_backward_fn *backward;
    const char *const *names; /* of the operands, for messages; NULL: a, b and c */
} ht_broadcast_op;
ht_tensor *ht__broadcast(const ht_broadcast_op *op, int count, ht_tensor *const in[],
                         const ht_params *params);
ht_tensor *ht__binary(const ht_broadcast_op *op, ht_tensor *a, ht_tensor *b);
ht_tensor *ht__binary_with(const ht_broadcast_op *op, ht_tensor *a, ht_tensor *b,
                           const ht_params *params);
/* The first operand <- f(operands), in the graph as f is. HT_ERR_DTYPE where it cannot hold that.
 */
ht_status ht__broadcast_(const ht_broadcast_op *op, int count, ht_tensor *const in[],
                         const ht_params *params);
ht_status ht__binary_(const ht_broadcast_op *op, const char *what, ht_tensor *a, ht_tensor *b);
/* For backward functions: f(g, b). The result takes g's memory if b fits g and nothing else refers
 * to g. */
ht_tensor *ht__binary_over(const ht_broadcast_op *op, ht_tensor *g, ht_tensor *b,
                           const ht_params *params);
ht_dtype ht__binary_dtype(ht_tensor *a, ht_tensor *b); /* what a and b promote to */
/* The dtype in which a number meets a tensor: the tensor's, unless the number's kind is higher. */
ht_dtype ht__scalar_dtype(ht_dtype dtype, ht_number value);
ht_tensor *ht__binary_scalar(const ht_broadcast_op *op, ht_tensor *a, ht_number b);
ht_status ht__binary_scalar_(const ht_broadcast_op *op, ht_tensor *a, ht_number b);

/* A row and its public functions, ht_f and ht_f_ in place: HT_UNARY(sin, .kernel = HT_KERNEL_SIN,
 * ...).
 */
/* clang-format off */
#define HT_UNARY(f, ...)                                                                        \
    HT_UNARY_ONLY(f, __VA_ARGS__)                                                               \
    ht_status ht_##f##_(ht_tensor *x) { return ht__unary_(&f##_op, "ht_" #f "_", x, NULL); }
#define HT_UNARY_ONLY(f, ...)                                                                   \
    static const ht_unary_op f##_op = {.name = "ht_" #f, __VA_ARGS__};                          \
    ht_tensor *ht_##f(ht_tensor *x) { return ht__unary(&f##_op, x); }
#define HT_BINARY(f, ...)                                                                       \
    HT_BINARY_ONLY(f, __VA_ARGS__)                                                              \
    ht_status ht_##f##_(ht_tensor *a, ht_tensor *b)                                             \
    { return ht__binary_(&f##_op, "ht_" #f "_", a, b); }
#define HT_BINARY_ONLY(f, ...)                                                                  \
    static const ht_broadcast_op f##_op = {.name = "ht_" #f, __VA_ARGS__};                      \
    ht_tensor *ht_##f(ht_tensor *a, ht_tensor *b) { return ht__binary(&f##_op, a, b); }
/* clang-format on */

typedef struct ht_reduce_row {
    const char *name;
    ht_kernel kernel;
    ht_reduce_op across;      /* how partial results of ranks are combined */
    bool needs_elements;      /* empty input is an error */
    bool needs_order;         /* and so are complex numbers */
    ht_backward_fn *backward; /* context: ht_reduce_over */
    bool save;                /* save input (0) and output (1) */
    bool wide;                /* sums stay in the accumulator's dtype: int64, float64, complex128 */
} ht_reduce_row;

/* The reduction: a bit for each axis. */
typedef struct ht_reduce_over {
    uint32_t axes;
    bool keepdims;
} ht_reduce_over;
bool ht__reduce_axis(const char *what, const ht_tensor *x, int axis, ht_reduce_over *over);
ht_tensor *ht__reduce(const ht_reduce_row *row, ht_tensor *x, int axis);
ht_tensor *ht__reduce_over(const ht_reduce_row *row, ht_tensor *x, const ht_reduce_over *over);

/* The elements that make one of the result; and g, a result's gradient, with the axes that were
 * dropped, of length 1. */
int64_t ht__reduce_count(const ht_body *x, const ht_reduce_over *over);
ht_tensor *ht__reduce_undone(const ht_reduce_over *over, ht_tensor *g, int ndim);

/* Without a node: the mean in the accumulator's dtype (float64, complex128); and in float64 the sum
 * of |x - mean|^2 over the divisor. */
ht_tensor *ht__mean_wide(const char *what, ht_tensor *x, const ht_reduce_over *over);
ht_tensor *ht__spread_wide(const char *what, ht_tensor *x, const ht_reduce_over *over,
                           double divisor);

/* Without a node, in float64: the sum of |x| or x^2 (SUM_ABS, SUM_SQUARES) of floating x. */
ht_tensor *ht__sum_by(const char *what, ht_kernel kernel, ht_tensor *x, const ht_reduce_over *over);

/* Differentiable: x less a constant near its mean (over: the axes kept), in the accumulator's dtype
 * (moments.c). */
ht_tensor *ht__centred(const char *what, ht_tensor *x, const ht_reduce_over *over);

/* Long forms (reduce_options.c): the options that a function takes, in addition to axes and
 * keepdims. False after an error. */
enum {
    HT_TAKES_DTYPE = 1,
    HT_TAKES_FLOATING = 2, /* of dtypes those alone, and complex ones */
    HT_TAKES_DDOF = 4,
    HT_TAKES_INITIAL = 8,
    HT_TAKES_WHERE = 16
};
bool ht__reduce_options(const char *what, const ht_tensor *x, const ht_reduce_options *options,
                        unsigned takes, ht_reduce_options *filled, ht_reduce_over *over);

/* A sum in the accumulator's dtype, to be added to or divided later. Differentiable. */
ht_tensor *ht__sum_over(const char *what, ht_tensor *x, const ht_reduce_over *over);

/* Numbers that are added up or multiplied as widely as kernels do: float64, or complex128. */
static inline ht_dtype ht__dtype_wide(ht_dtype dtype)
{
    return ht_dtype_is_complex(dtype) ? HT_COMPLEX128 : HT_FLOAT64;
}

/* For a derivative that is 0 wherever there is one. */
void ht__zero_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[]);

/* g where the mask is set, else 0, for backward functions. Not a product: 0 times an infinity would
 * be NaN. */
ht_tensor *ht__grad_where(ht_tensor *g, ht_tensor *mask);

/* x where `where` is set, else 0, in x's dtype; and how many are set, in int64. Differentiable. */
ht_tensor *ht__masked(const char *what, ht_tensor *x, ht_tensor *where);
ht_tensor *ht__count_where(const char *what, const ht_tensor *x, ht_tensor *where,
                           const ht_reduce_over *over);

typedef struct ht_cumulative_row {
    const char *name;
    ht_kernel kernel;
    ht_reduce_op across;
    ht_backward_fn *backward;
} ht_cumulative_row;
ht_tensor *ht__cumulative(const ht_cumulative_row *row, ht_tensor *x, int axis);
/* From the end of the axis to its beginning; without a node. */
ht_tensor *ht__cumulative_reversed(const ht_cumulative_row *row, ht_tensor *x, int axis);

#endif
