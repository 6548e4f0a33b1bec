/* SPDX-License-Identifier: MIT */
#include "gradcheck.h"

#include <math.h>
#include <stdio.h>

#include "ht_test.h"
#include "tensor_check.h"

/* A fixed weight for every element of y, the same for any split. */
static ht_tensor *weights_like(ht_tensor *y)
{
    uint64_t seed, draw;
    ht_tensor *w;

    ht_random_get_state(&seed, &draw);
    ht_random_set_state(77, 0);
    w = ht_copy(ht_zeros_like(y));
    assert_int_equal(ht_uniform_(w, 0.5, 1.5), HT_SUCCESS);
    ht_random_set_state(seed, draw);
    return w;
}

static ht_tensor *objective(ht_gradcheck_fn *f, ht_tensor *inputs[], void *user)
{
    ht_tensor *y = f(inputs, user);

    assert_non_null(y);
    return ht_sum(ht_mul(y, weights_like(y)), HT_NONE);
}

static double evaluate(ht_gradcheck_fn *f, ht_tensor *inputs[], void *user)
{
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false);
    double value = ht_item(objective(f, inputs, user));

    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return value;
}

/* The same by operations, for memory that the host cannot reach. */
static void nudge_on_device(ht_tensor *x, int64_t index, double delta)
{
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false);
    ht_tensor *at = x;

    for (int i = ht_tensor_ndim(x) - 1; i >= 0; i--) {
        int64_t place = index % ht_tensor_shape(x)[i];

        index /= ht_tensor_shape(x)[i];
        at = ht_narrow(at, i, place, place + 1);
    }
    assert_int_equal(ht_copy_(at, ht_add_scalar(at, delta)), HT_SUCCESS);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
}

/* Adds `delta` to global element `index` of x (row-major), wherever it lives. */
static void nudge(ht_tensor *x, int64_t index, double delta)
{
    const int64_t *shape = ht_tensor_shape(x), *lshape = ht_tensor_lshape(x);
    const int64_t *stride = ht_tensor_stride(x);
    int64_t at = 0;
    bool mine = true;

    if (!ht_test_on_host())
        return nudge_on_device(x, index, delta);
    for (int i = ht_tensor_ndim(x) - 1; i >= 0; i--) {
        int64_t place = index % shape[i];

        index /= shape[i];
        if (i == ht_tensor_split(x))
            place -= ht_tensor_offset(x);
        mine = mine && place >= 0 && place < lshape[i];
        at += place * stride[i];
    }
    double *data = ht_tensor_mutable_data(x); /* on all ranks alike */
    if (mine)
        data[at] += delta;
}

static double element(ht_tensor *x, int64_t index)
{
    ht_tensor *all = ht_contiguous(ht_resplit(x, HT_NONE));

    return ((const double *)ht_test_data(all))[index];
}

void ht_gradcheck(ht_gradcheck_fn *f, int count, ht_tensor *inputs[], void *user, double tolerance)
{
    const double h = 1e-5;

    for (int k = 0; k < count; k++)
        ht_tensor_set_grad(inputs[k], NULL);
    assert_int_equal(ht_backward(objective(f, inputs, user)), HT_SUCCESS);
    for (int k = 0; k < count; k++) {
        if (!ht_tensor_requires_grad(inputs[k]))
            continue;
        assert_non_null(ht_tensor_grad(inputs[k]));
        for (int64_t i = 0; i < ht_tensor_size(inputs[k]); i++) {
            double up, down, numeric, found = element(ht_tensor_grad(inputs[k]), i);

            nudge(inputs[k], i, h);
            up = evaluate(f, inputs, user);
            nudge(inputs[k], i, -2 * h);
            down = evaluate(f, inputs, user);
            nudge(inputs[k], i, h);
            numeric = (up - down) / (2 * h);
            if (fabs(numeric - found) > tolerance * (1 + fabs(numeric)))
                fail_msg("gradient of input %d, element %lld: %.12g, finite differences say %.12g",
                         k, (long long)i, found, numeric);
        }
    }
}
