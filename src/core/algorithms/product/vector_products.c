/* SPDX-License-Identifier: MIT
 *
 * Products of vectors: scalar, outer and cross products, traces, projections. They are elementwise
 * products and sums, which have the gradients. These decide which data travel. For an outer product
 * all ranks also get one of the vectors. */
#include "core/ops/ops.h"
#include "ht/linalg.h"

#include "ht/arithmetics.h"
#include "ht/complex_math.h"
#include "ht/indexing.h"
#include "ht/manipulations.h"

/* Numbers are on every communicator. */
static bool are_together(const char *what, const ht_tensor *a, const ht_tensor *b)
{
    return a->body->number != NULL || b->body->number != NULL || ht__check_together(what, a, b);
}

static ht_tensor *dot(ht_tensor *a, ht_tensor *b)
{
    if (a->body->ndim == 0 || b->body->ndim == 0)
        return ht_mul(a, b);
    if (a->body->ndim <= 2 && b->body->ndim <= 2)
        return ht_matmul(a, b);
    HT_FAIL(a->body->comm, HT_ERR_SHAPE,
            "ht_dot: a is %s, b is %s, expected at most two axes each (ht_matmul takes more)",
            ht__shape_str(a->body->ndim, a->body->shape),
            ht__shape_str(b->body->ndim, b->body->shape));
    return NULL;
}

ht_tensor *ht_dot(ht_tensor *a, ht_tensor *b)
{
    HT_NAMED("ht_dot");
    ht_tensor *c = NULL;

    if (!HT_IS_NULL(a, "ht_dot", "a") && !HT_IS_NULL(b, "ht_dot", "b") &&
        are_together("ht_dot", a, b))
        c = dot(a, b);
    return c;
}

/* A number stays one. */
static ht_tensor *conjugate(ht_tensor *x)
{
    ht_number number;

    if (x->body->number == NULL || x->body->number->kind != HT_NUMBER_COMPLEX)
        return ht_conj(x);
    number = *x->body->number;
    number.imaginary = -number.imaginary;
    return ht__number(number);
}

/* In the dtype in which products are added: the product of two float16 or int8 may be too large for
 * their own. */
static ht_tensor *widened(ht_tensor *x)
{
    const ht_dtype dtype = x->body->dtype;

    if (x->body->number != NULL)
        return x;
    if (dtype == HT_FLOAT16 || dtype == HT_BFLOAT16)
        return ht_astype(x, HT_FLOAT32);
    return ht__dtype_kind(dtype) < 2 ? ht_astype(x, HT_INT64) : x;
}

/* *dtype: that of ht_mul. */
static ht_tensor *conjugated_product(ht_tensor *a, ht_tensor *b, ht_dtype *dtype)
{
    if (a == NULL || b == NULL)
        return NULL;
    *dtype = ht_result_type(2, (ht_tensor *[]){a, b});
    a = widened(a);
    b = a != NULL ? widened(b) : NULL;
    a = b != NULL ? conjugate(a) : NULL;
    return a != NULL ? ht_mul(a, b) : NULL;
}

/* A sum of integers stays int64. */
static ht_tensor *narrowed(ht_tensor *sum, ht_dtype dtype)
{
    return sum != NULL && ht__dtype_kind(dtype) >= 2 ? ht_astype(sum, dtype) : sum;
}

static ht_tensor *vdot(ht_tensor *a, ht_tensor *b)
{
    ht_dtype dtype;
    ht_tensor *c;

    if (HT_IS_NULL(a, "ht_vdot", "a") || HT_IS_NULL(b, "ht_vdot", "b") ||
        !are_together("ht_vdot", a, b))
        return NULL;
    if (ht_tensor_size(a) != ht_tensor_size(b)) {
        HT_FAIL((a->body->number != NULL ? b : a)->body->comm, HT_ERR_SHAPE,
                "ht_vdot: a has %lld elements, b has %lld, expected the same number",
                (long long)ht_tensor_size(a), (long long)ht_tensor_size(b));
        return NULL;
    }
    if (a->body->number == NULL && b->body->number == NULL &&
        !ht__body_same_shape(a->body, b->body)) {
        a = ht_reshape(a, HT_SHAPE(-1));
        b = ht_reshape(b, HT_SHAPE(-1));
    }
    c = conjugated_product(a, b, &dtype);
    return c != NULL ? narrowed(ht_sum(c, HT_NONE), dtype) : NULL;
}

ht_tensor *ht_vdot(ht_tensor *a, ht_tensor *b)
{
    HT_NAMED("ht_vdot");

    return vdot(a, b);
}

static ht_tensor *vecdot(ht_tensor *a, ht_tensor *b, int axis, bool keepdims)
{
    ht_reduce_options options = ht_reduce_options_default();
    ht_dtype dtype;
    ht_tensor *c;

    if (HT_IS_NULL(a, "ht_vecdot", "a") || HT_IS_NULL(b, "ht_vecdot", "b") ||
        !are_together("ht_vecdot", a, b))
        return NULL;
    c = conjugated_product(a, b, &dtype);
    if (c == NULL)
        return NULL;
    axis = axis == HT_NONE && c->body->ndim > 0 ? -1 : axis;
    if (!ht__check_axis_of("ht_vecdot", "axis", "a * b", c, &axis))
        return NULL;
    options.axes = &axis;
    options.count = 1;
    options.keepdims = keepdims;
    return narrowed(ht_sum_ext(c, &options), dtype);
}

ht_tensor *ht_vecdot(ht_tensor *a, ht_tensor *b, int axis, bool keepdims)
{
    HT_NAMED("ht_vecdot");

    return vecdot(a, b, axis, keepdims);
}

/* ---- outer products -------------------------------------------------------------------------- */

static ht_tensor *as_line(ht_tensor *x, const char *name)
{
    if (x->body->ndim == 0) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE, "ht_outer: %s is a scalar, expected at least one axis",
                name);
        return NULL;
    }
    return x->body->ndim == 1 ? x : ht_reshape(x, HT_SHAPE(-1));
}

/* Split as it is, if that is how it is to be. */
static ht_tensor *with_split(ht_tensor *x, bool split)
{
    if (x == NULL || (split && x->body->split == 0))
        return x;
    return ht_resplit(x, split ? 0 : HT_NONE);
}

static ht_tensor *outer(ht_tensor *a, ht_tensor *b, int split)
{
    if (HT_IS_NULL(a, "ht_outer", "a") || HT_IS_NULL(b, "ht_outer", "b") ||
        !ht__check_together("ht_outer", a, b))
        return NULL;
    if (split != HT_NONE && (split < -2 || split > 1)) {
        HT_FAIL(a->body->comm, HT_ERR_ARGUMENT,
                "ht_outer: split is %d, expected an axis of the result, which has two", split);
        return NULL;
    }
    if (split == HT_NONE && (a->body->split != HT_NONE || b->body->split != HT_NONE))
        split = 0;
    else if (split != HT_NONE && split < 0)
        split += 2;
    a = as_line(a, "a");
    b = a != NULL ? as_line(b, "b") : NULL;
    if (b == NULL)
        return NULL;
    a = with_split(a, split == 0);
    b = with_split(b, split == 1);
    a = a != NULL ? ht_expand_dims(a, 1) : NULL;
    b = b != NULL ? ht_expand_dims(b, 0) : NULL;
    return a != NULL && b != NULL ? ht_mul(a, b) : NULL;
}

ht_tensor *ht_outer(ht_tensor *a, ht_tensor *b, int split)
{
    HT_NAMED("ht_outer");

    return outer(a, b, split);
}

/* To one dtype: a component of a vector has no axes, and would count as a number. */
static bool promote(ht_tensor **a, ht_tensor **b)
{
    const ht_dtype dtype = ht_promote_types((*a)->body->dtype, (*b)->body->dtype);

    *a = ht_astype(*a, dtype);
    *b = *a != NULL ? ht_astype(*b, dtype) : NULL;
    return *b != NULL;
}

/* ---- cross products -------------------------------------------------------------------------- */

/* An operand with its vectors along the last axis, which is not split. */
typedef struct vectors {
    ht_tensor *x;
    int64_t length;
    bool across; /* they were split */
} vectors;

static bool take_vectors(vectors *v, const char *axis_name, const char *name, ht_tensor *x,
                         int axis)
{
    if (!ht__check_axis_of("ht_cross", axis_name, name, x, &axis))
        return false;
    v->length = x->body->shape[axis];
    if (v->length != 2 && v->length != 3) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE,
                "ht_cross: axis %d of %s of shape %s is %lld long, expected 2 or 3", axis, name,
                ht__shape_str(x->body->ndim, x->body->shape), (long long)v->length);
        return false;
    }
    v->across = x->body->split == axis;
    x = ht_moveaxis(x, HT_AXES(axis), HT_AXES(-1));
    if (x != NULL && v->across)
        x = ht_resplit(x, x->body->ndim > 1 ? 0 : HT_NONE);
    v->x = x;
    return x != NULL;
}

/* NULL for the third of two, which is 0. */
static ht_tensor *component(const vectors *v, int64_t i)
{
    return i < v->length ? ht_getitem(v->x, HT_KEY(HT_ELLIPSIS, i)) : NULL;
}

/* a[i] b[j] - a[j] b[i], of what there is. */
static ht_tensor *difference(const vectors *a, const vectors *b, int i, int j)
{
    ht_tensor *left = NULL, *right = NULL;

    if (i < a->length && j < b->length)
        left = ht_mul(component(a, i), component(b, j));
    if (j < a->length && i < b->length)
        right = ht_mul(component(a, j), component(b, i));
    if (i < a->length && j < b->length && j < a->length && i < b->length)
        return ht_sub(left, right);
    return left != NULL ? left : ht_neg(right);
}

/* names: those of the axes in the call. */
static ht_tensor *cross(const char *const names[3], ht_tensor *a, ht_tensor *b, int axis_a,
                        int axis_b, int axis_c)
{
    vectors left, right;
    ht_tensor *parts[3], *c;

    if (HT_IS_NULL(a, "ht_cross", "a") || HT_IS_NULL(b, "ht_cross", "b") ||
        !ht__check_together("ht_cross", a, b) || !promote(&a, &b) ||
        !take_vectors(&left, names[0], "a", a, axis_a) ||
        !take_vectors(&right, names[1], "b", b, axis_b))
        return NULL;
    if (left.length == 2 && right.length == 2)
        return difference(&left, &right, 0, 1);
    for (int i = 0; i < 3; i++) {
        parts[i] = difference(&left, &right, (i + 1) % 3, (i + 2) % 3);
        if (parts[i] == NULL)
            return NULL;
    }
    c = ht_stack(3, parts, -1);
    if (c == NULL || !ht__check_axis_of("ht_cross", names[2], "the result", c, &axis_c))
        return NULL;
    c = ht__without_base(ht_moveaxis(c, HT_AXES(-1), HT_AXES(axis_c)));
    return c != NULL && left.across && right.across ? ht_resplit(c, axis_c) : c;
}

ht_tensor *ht_cross_ext(ht_tensor *a, ht_tensor *b, int axis_a, int axis_b, int axis_c)
{
    HT_NAMED("ht_cross_ext");

    return cross((const char *[]){"axis_a", "axis_b", "axis_c"}, a, b, axis_a, axis_b, axis_c);
}

ht_tensor *ht_cross(ht_tensor *a, ht_tensor *b, int axis)
{
    HT_NAMED("ht_cross");

    return cross((const char *[]){"axis", "axis", "axis"}, a, b, axis, axis, axis);
}

/* ---- traces and projections ------------------------------------------------------------------ */

static ht_tensor *trace(ht_tensor *x, int64_t offset, int axis0, int axis1)
{
    ht_tensor *line, *y;
    int split;

    if (HT_IS_NULL(x, "ht_trace", "x") || !ht__check_axis_of("ht_trace", "axis0", "x", x, &axis0) ||
        !ht__check_axis_of("ht_trace", "axis1", "x", x, &axis1))
        return NULL;
    if (axis0 == axis1) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "ht_trace: axis %d is given twice", axis0);
        return NULL;
    }
    split = x->body->split;
    line = ht_diagonal(x, offset, axis0, axis1);
    y = line != NULL ? ht_sum(line, -1) : NULL;
    if (y == NULL || y->body->ndim == 0 || (split != axis0 && split != axis1))
        return y;
    return ht_resplit(y, split < y->body->ndim ? split : y->body->ndim - 1);
}

ht_tensor *ht_trace(ht_tensor *x, int64_t offset, int axis0, int axis1)
{
    HT_NAMED("ht_trace");

    return trace(x, offset, axis0, axis1);
}

static ht_tensor *projection(ht_tensor *a, ht_tensor *b)
{
    ht_tensor *share;
    ht_dtype dtype;

    if (HT_IS_NULL(a, "ht_projection", "a") || HT_IS_NULL(b, "ht_projection", "b"))
        return NULL;
    if (a->body->ndim != 1 || b->body->ndim != 1) {
        HT_FAIL(a->body->comm, HT_ERR_SHAPE, "ht_projection: a is %s, b is %s, expected vectors",
                ht__shape_str(a->body->ndim, a->body->shape),
                ht__shape_str(b->body->ndim, b->body->shape));
        return NULL;
    }
    if (!promote(&a, &b))
        return NULL;
    dtype = ht__dtype_kind(a->body->dtype) < 2 ? HT_FLOAT32 : a->body->dtype;
    a = widened(a);
    b = a != NULL ? widened(b) : NULL;
    share = b != NULL ? ht_vdot(b, a) : NULL;
    share = share != NULL ? ht_div(share, ht_vdot(b, b)) : NULL;
    share = share != NULL ? ht_mul(b, share) : NULL;
    return share != NULL ? ht_astype(share, dtype) : NULL;
}

ht_tensor *ht_projection(ht_tensor *a, ht_tensor *b)
{
    HT_NAMED("ht_projection");

    return projection(a, b);
}
