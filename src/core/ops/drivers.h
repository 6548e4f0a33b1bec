/* SPDX-License-Identifier: MIT
 *
 * Numbers that are given to operations, the drivers with their rows, and what a write in place does
 * to the graph. A part of core.h, which includes it behind what it needs. */
#ifndef HT_CORE_OPS_DRIVERS_H
#define HT_CORE_OPS_DRIVERS_H

/* ---- numbers (scalar.c) ------------------------------------------------------------------------
 * A number that a program passes: an int64 stays one, for a double has 53 bits. */
typedef struct ht_number {
    bool exact; /* integer, else real */
    union {
        double real;
        int64_t integer;
    } as;
} ht_number;

static inline ht_number ht__real(double value)
{
    return (ht_number){.as.real = value};
}

static inline ht_number ht__integer(int64_t value)
{
    return (ht_number){.exact = true, .as.integer = value};
}

/* Whether a number is an integer that int64 has; then *whole is it. A cast of any other double is
 * undefined. */
bool ht__is_whole(double value, int64_t *whole);

/* ---- drivers (driver_*.c) ----------------------------------------------------------------------
 * Each takes one row that says which kernel, which result dtype, and how to differentiate. */
typedef enum ht_result { HT_RESULT_SAME, HT_RESULT_FLOAT, HT_RESULT_BOOL } ht_result;

typedef struct ht_unary_op {
    const char *name;
    ht_unary_kernel kernel;
    ht_result result; /* FLOAT: integers and bool are computed in float32 */
    enum { HT_SAVE_NOTHING, HT_SAVE_INPUT, HT_SAVE_OUTPUT } save;
    ht_backward_fn *backward; /* saved tensor 0 is what `save` says */
} ht_unary_op;
ht_tensor *ht__unary(const ht_unary_op *op, ht_tensor *x);
ht_status ht__unary_(const ht_unary_op *op, ht_tensor *x); /* in place, no graph */

/* ---- writes in place (history.c) --------------------------------------------------------------
 * A function that writes to x checks first, x brought up to date; writes; and says what the graph
 * is to know of it. Refused are read-only views and, while recording, leaves that require gradients
 * and views of them. values: what is to be written, where it may need a gradient. */
ht_status ht__check_in_place(const char *what, ht_tensor *x, const ht_tensor *values);
void ht__written(const char *what, ht_tensor *x, ht_node *node); /* node: taken; NULL: constants */
bool ht__has_history(const ht_tensor *x);                        /* it, or what it is a view of */

/* y was made as a view of x. */
void ht__set_base(ht_tensor *y, ht_tensor *x);
/* y is a view of what nobody else has, so that it is no view to anybody. */
ht_tensor *ht__without_base(ht_tensor *y);

/* Whether nobody has written through another handle since x's node was made; makes it so, or false
 * after the error. ht_node_new does it with its inputs. */
static inline bool ht__is_current(const ht_tensor *x)
{
    return x->history == x->body->storage->history;
}
bool ht__catch_up(const char *what, ht_tensor *x);

/* Whether the result of an operation may be written to x: not if its kind is higher (bool < integer
 * < floating < complex), as it would be lost. NULL: fails with the error already set. */
ht_status ht__check_result(const char *what, const ht_tensor *x, const ht_tensor *result);

/* x <- values (NULL: fails with the error already set), in the graph as `values` are. */
ht_status ht__replace_values(const char *what, ht_tensor *x, ht_tensor *values);

/* ht_tensor_set_ in the words of `what`. */
ht_status ht__tensor_set(const char *what, ht_tensor *x, ht_tensor *y);

typedef struct ht_binary_op {
    const char *name;
    ht_binary_kernel kernel;
    ht_result result;
    bool save_operands; /* saved tensors 0 and 1, in the dtype of the computation */
    bool no_bool;
    bool no_complex;
    ht_backward_fn *backward;
} ht_binary_op;
ht_tensor *ht__binary(const ht_binary_op *op, ht_tensor *a, ht_tensor *b);
ht_dtype ht__binary_dtype(const ht_body *a, const ht_body *b); /* what a and b promote to */
ht_tensor *ht__binary_scalar(const ht_binary_op *op, ht_tensor *a, ht_number b);

/* What is conjugate to complex x, x itself where it is real. PyTorch's gradient of a real loss is
 * dL/d(Re z) + i dL/d(Im z): for w = f(z) that of z is that of w times the conjugate of f'(z). */
ht_tensor *ht__conj(ht_tensor *x);

/* y <- a x + b y: contiguous local parts of one dtype (float32, float64) and length, on one device.
 */
ht_status ht__axpby(const char *what, double a, ht_tensor *x, double b, ht_tensor *y);

typedef struct ht_reduce_row {
    const char *name;
    ht_reduce_kernel kernel;
    ht_reduce_op across;      /* how partial results of ranks are combined */
    bool needs_elements;      /* empty input is an error */
    ht_backward_fn *backward; /* context: ht_reduce_context */
    bool save;                /* save input (0) and output (1) */
} ht_reduce_row;
typedef struct ht_reduce_context {
    int axis; /* HT_NONE: all */
    bool keepdim;
} ht_reduce_context;
ht_tensor *ht__reduce(const ht_reduce_row *row, ht_tensor *x, int axis, bool keepdim);

/* Without a node: the mean of x in the accumulator's dtype (float64, complex128), or with `centre`,
 * which is such a mean, that of |x - centre|^2. */
ht_tensor *ht__mean_wide(const char *what, ht_tensor *x, int axis, bool keepdim, ht_tensor *centre);

/* Without a node: x summed along an axis, which stays with length 1, in the dtype in which partial
 * sums are kept: int64 for integers and bool, else the accumulator's. */
ht_tensor *ht__sum_axis_wide(const char *what, ht_tensor *x, int axis);

/* Without a node: x summed over the axes along which `shape` was broadcast to it, at once. */
ht_tensor *ht__sum_to(const char *what, ht_tensor *x, int ndim, const int64_t shape[]);

/* x / count, also where x's dtype does not hold the count. */
ht_tensor *ht__over_count(ht_tensor *x, int64_t count);

typedef struct ht_cumulative_row {
    const char *name;
    ht_cumulative_kernel kernel;
    ht_reduce_op across;
    ht_backward_fn *backward;
} ht_cumulative_row;
ht_tensor *ht__cumulative(const ht_cumulative_row *row, ht_tensor *x, int axis);
/* From the end of the axis to its beginning; without a node. */
ht_tensor *ht__cumulative_reversed(const ht_cumulative_row *row, ht_tensor *x, int axis);

/* One operand of a loop: memory and strides along the axes of the output's local shape. */
typedef struct ht_operand {
    void *data;
    int64_t stride[HT_MAX_NDIM];
} ht_operand;

/* Fills `loop`: sorts axes by the strides of operand 0, drops those of length 1, merges neighbours.
 */
void ht__loop_fill(ht_loop *loop, int ndim, const int64_t lshape[], int count,
                   const ht_operand operands[]);
ht_operand ht__operand(const ht_body *body);

/* y <- x converted, same local shapes, any strides, one device. */
ht_status ht__copy_local(const char *what, const ht_body *y, const ht_body *x);

/* y <- value, converted to y's dtype; the second from a host element of any dtype. */
ht_status ht__fill_local(const char *what, const ht_body *y, ht_number value);
ht_status ht__fill_local_from(const char *what, const ht_body *y, ht_dtype dtype,
                              const void *value);

/* A tensor of one number, no axes and no split beside x, for operations of both. Scoped. */
ht_tensor *ht__number_beside(const char *what, const ht_tensor *x, ht_number value, ht_dtype dtype);

/* ht_broadcast_to under the name of the call that needs it, and of its argument. */
ht_tensor *ht__broadcast_to(const char *what, const char *name, ht_tensor *x, int ndim,
                            const int64_t shape[]);

/* x moved into the split and slabs of `like`, which has its shape; x itself when it fits. */
ht_tensor *ht__match_slabs(const char *what, ht_tensor *x, const ht_body *like);

/* HT_ERR_ARGUMENT unless x's dtype holds a range of uniform numbers (random.c). */
ht_status ht__random_check_range(const char *what, const ht_body *x, double low, double high);

/* x <- random numbers of one draw, keyed by global element index. */
ht_status ht__random_fill(const char *what, ht_tensor *x, ht_random_kernel kernel, uint64_t seed,
                          uint64_t draw, double a, double b);

/* Where the elements of a body that is row-major, or that is not split and dense in another order,
 * stand in its global tensor. There are some. */
void ht__random_place(const ht_body *body, ht_random *random);

/* Draws that a communicator has made since the generator was seeded. */
uint64_t ht__random_draws(ht_comm *comm);
void ht__random_set_draws(ht_comm *comm, uint64_t draws);

#endif
