/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Tensors that get another body, or another split: what belonged to the old one. */
#include <math.h>

#include "ht_test.h"
#include "tensor_check.h"

static const int64_t shape[2] = {5, 3};

static ht_tensor *leaf_of(int ndim, const int64_t *lengths, int split, uint64_t seed)
{
    ht_tensor *x = ht_test_randn(ndim, lengths, HT_FLOAT64, split, seed);

    assert_int_equal(ht_tensor_set_requires_grad(x, true), HT_SUCCESS);
    return x;
}

static void backward_of_sum(ht_tensor *x, double factor)
{
    assert_int_equal(ht_backward(ht_sum(ht_mul_scalar(x, factor), HT_NONE)), HT_SUCCESS);
}

static void another_body_has_no_gradient_of_the_old_one(void **state)
{
    const int64_t three[1] = {3}, many[1] = {100000};
    ht_tensor *x = leaf_of(1, three, HT_NONE, 1), *before;
    ht_optimizer *sgd = ht_optim_sgd(ht_value_tensors(1, &x), 0.5, NULL);

    (void)state;
    backward_of_sum(x, 1);
    assert_int_equal(ht_tensor_set_(x, ht_test_randn(1, many, HT_FLOAT64, HT_NONE, 2)), HT_SUCCESS);
    assert_null(ht_tensor_grad(x));
    before = ht_copy(ht_detach(x));
    assert_int_equal(ht_optimizer_step(sgd), HT_SUCCESS);
    ht_test_expect_same(x, before, 0);
    ht_release(sgd);
}

static void a_body_that_could_not_be_a_leaf_is_refused(void **state)
{
    const int64_t five[1] = {5};
    ht_tensor *x = leaf_of(1, five, HT_NONE, 1), *before = ht_copy(ht_detach(x));
    ht_tensor *one = ht_full(HT_SHAPE(1), 7, HT_FLOAT64, HT_NONE);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_tensor_set_(x, ht_zeros(1, five, HT_INT32, HT_NONE)), HT_ERR_DTYPE,
                         "ht_tensor_set_: x requires gradients, but y is int32");
    HT_TEST_EXPECT_ERROR(ht_tensor_set_(x, ht_broadcast_to(one, 1, five)), HT_ERR_ARGUMENT,
                         "ht_tensor_set_: y is a read-only view");
    ht_test_expect_same(x, before, 0);
}

static void a_body_of_the_same_kind_keeps_the_gradient(void **state)
{
    ht_tensor *x = leaf_of(2, shape, 0, 3);

    (void)state;
    backward_of_sum(x, 2);
    assert_int_equal(ht_tensor_set_(x, ht_test_randn(2, shape, HT_FLOAT64, 0, 4)), HT_SUCCESS);
    ht_test_expect_same(ht_tensor_grad(x), ht_full_like(x, 2), 0);
}

/* A graph that was recorded before would give x a gradient that fits the old body. */
static void a_gradient_for_the_old_body_is_refused(void **state)
{
    ht_tensor *x = leaf_of(2, shape, HT_NONE, 5), *loss = ht_sum(x, HT_NONE);

    (void)state;
    ht_tensor_set_(x, ht_test_randn(HT_SHAPE(2), HT_FLOAT64, HT_NONE, 6));
    HT_TEST_EXPECT_ERROR(ht_backward(loss), HT_ERR_STATE, "got another body after");
    assert_null(ht_tensor_grad(x));
}

static void resplit_in_place_takes_the_gradient_along(void **state)
{
    (void)state;
    for (int from = -1; from < 2; from++) {
        for (int to = -1; to < 2; to++) {
            ht_tensor *x = leaf_of(2, shape, from < 0 ? HT_NONE : from, 7), *expected;
            ht_optimizer *sgd = ht_optim_sgd(ht_value_tensors(1, &x), 0.5, NULL);
            int split = to < 0 ? HT_NONE : to;

            assert_int_equal(ht_backward(ht_sum(ht_mul(x, x), HT_NONE)), HT_SUCCESS);
            expected = ht_sub(ht_detach(x), ht_mul_scalar(ht_tensor_grad(x), 0.5));
            assert_int_equal(ht_resplit_(x, split), HT_SUCCESS);
            assert_int_equal(ht_tensor_split(ht_tensor_grad(x)), split);
            assert_int_equal(ht_optimizer_step(sgd), HT_SUCCESS);
            ht_test_expect_same(x, expected, 1e-15);
            ht_release(sgd);
        }
    }
}

/* Nothing is written, so graphs and views that need x stay valid. */
static void resplit_in_place_to_the_same_split_does_nothing(void **state)
{
    (void)state;
    for (int from = -1; from < 2; from++) {
        ht_tensor *x = leaf_of(2, shape, from < 0 ? HT_NONE : from, 7), *y = ht_mul(x, x);
        ht_tensor *loss = ht_sum(ht_mul(y, y), HT_NONE);

        for (int axis = from; axis >= -2; axis -= 2) { /* counted from the end, too */
            int split = from < 0 ? HT_NONE : axis;

            assert_int_equal(ht_resplit_(x, split), HT_SUCCESS);
            assert_int_equal(ht_resplit_(y, split), HT_SUCCESS);
            assert_int_equal(ht_resplit_(ht_transpose(x, 0, 0), split), HT_SUCCESS);
        }
        assert_int_equal(ht_backward(loss), HT_SUCCESS);
        HT_TEST_EXPECT_ERROR(ht_resplit_(y, from < 0 ? 0 : HT_NONE), HT_ERR_STATE,
                             "ht_resplit_: x is the result of a recorded operation");
    }
}

/* A refusal comes before an exchange, which would take memory for the other slabs. */
static void a_refused_move_exchanges_nothing(void **state)
{
    ht_tensor *x = leaf_of(2, shape, 0, 7), *y = ht_mul(x, x);
    ht_tensor *view = ht_detach(ht_transpose(x, 0, 1));
    ht_device_memory before, now;

    (void)state;
    ht_device_get_memory(ht_tensor_device(x), &before);
    HT_TEST_EXPECT_ERROR(ht_resplit_(y, 1), HT_ERR_STATE,
                         "ht_resplit_: x is the result of a recorded operation, expected a leaf");
    HT_TEST_EXPECT_ERROR(ht_resplit_(view, HT_NONE), HT_ERR_STATE,
                         "ht_resplit_: x is a view, expected a tensor with storage of its own");
    if (ht_test_size > 1) {
        HT_TEST_EXPECT_ERROR(ht_collect_(y, 0), HT_ERR_STATE, "ht_collect_: x is the result");
        HT_TEST_EXPECT_ERROR(ht_collect_(view, 0), HT_ERR_STATE, "ht_collect_: x is a view");
    }
    ht_device_get_memory(ht_tensor_device(x), &now);
    assert_int_equal(now.allocated, before.allocated);
}

static void a_gradient_is_distributed_as_its_tensor(void **state)
{
    ht_use_device(ht_device_get("cpu"));

    ht_tensor *x = leaf_of(2, shape, 0, 8), *row, *flat;

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_tensor_set_grad(x, ht_test_randn(2, shape, HT_FLOAT64, 1, 9)),
                         HT_ERR_SHAPE, "split along axis 1 on cpu:0");
    HT_TEST_EXPECT_ERROR(ht_tensor_set_grad(x, ht_test_randn(2, shape, HT_FLOAT64, HT_NONE, 9)),
                         HT_ERR_SHAPE, "grad is float64 (5, 3) on cpu:0");
    HT_TEST_EXPECT_ERROR(
        ht_tensor_set_grad(x, ht_narrow(ht_test_randn(HT_SHAPE(7, 3), HT_FLOAT64, 0, 9), 0, 0,
                                        ht_test_size > 1 ? 5 : 4)),
        HT_ERR_SHAPE, "ht_tensor_set_grad");
    if (ht_test_size > 1)
        HT_TEST_EXPECT_ERROR(ht_tensor_set_grad(x, ht_full(2, shape, 1, HT_FLOAT64, HT_LOCAL)),
                             HT_ERR_SHAPE, "ht_tensor_set_grad");

    /* The slots behind the last axis may have any value. */
    row = leaf_of(HT_SHAPE(3, 4), HT_NONE, 10);
    flat = ht_squeeze(ht_test_randn(HT_SHAPE(1, 3, 4), HT_FLOAT64, HT_NONE, 11), 0);
    assert_int_equal(ht_tensor_set_grad(row, flat), HT_SUCCESS);
}

/* Its elements lie in one place, which a write in place would meet once for each. */
static void a_gradient_from_a_broadcast_view_is_a_copy(void **state)
{
    ht_tensor *x = leaf_of(2, shape, HT_NONE, 8);
    ht_tensor *ten = ht_full(0, NULL, 10, HT_FLOAT64, HT_NONE);

    (void)state;
    assert_int_equal(ht_tensor_set_grad(x, ht_broadcast_to(ten, 2, shape)), HT_SUCCESS);
    assert_int_equal(ht_mul_scalar_(ht_tensor_grad(x), 0.5), HT_SUCCESS);
    assert_true(ht_item(ht_sum(ht_tensor_grad(x), HT_NONE)) == 5.0 * (double)ht_tensor_size(x));
}

static void an_optimizer_refuses_a_state_that_does_not_fit(void **state)
{
    ht_tensor *x = leaf_of(HT_SHAPE(2, 6), HT_NONE, 12);
    ht_sgd_options options = ht_sgd_options_default();
    ht_optimizer *sgd;

    (void)state;
    options.momentum = 0.9;
    sgd = ht_optim_sgd(ht_value_tensors(1, &x), 0.5, &options);
    backward_of_sum(x, 1);
    assert_int_equal(ht_optimizer_step(sgd), HT_SUCCESS);
    /* As many elements, in another shape. */
    ht_tensor_set_(x, ht_test_randn(HT_SHAPE(6, 2), HT_FLOAT64, HT_NONE, 13));
    backward_of_sum(x, 1);
    HT_TEST_EXPECT_ERROR(ht_optimizer_step(sgd), HT_ERR_STATE, "its state");
    ht_release(sgd);
}

static void equal_ignores_slots_behind_the_last_axis(void **state)
{
    ht_tensor *x = ht_test_randn(HT_SHAPE(1, 3, 4), HT_FLOAT64, HT_NONE, 14);
    bool equal = false;

    (void)state;
    assert_int_equal(ht_equal(ht_squeeze(x, 0), ht_copy(ht_squeeze(x, 0)), &equal), HT_SUCCESS);
    assert_true(equal);
    assert_int_equal(ht_equal(x, ht_squeeze(x, 0), &equal), HT_SUCCESS);
    assert_false(equal);
}

/* Integers have no gradient, however they came about. */
static void integers_have_no_history(void **state)
{
    ht_tensor *x = leaf_of(2, shape, 0, 15), *whole = ht_astype(x, HT_INT32);
    ht_tensor *filled = ht_zeros(2, shape, HT_INT64, 0);

    (void)state;
    assert_false(ht_tensor_requires_grad(whole));
    assert_false(ht_tensor_requires_grad(ht_astype(whole, HT_FLOAT64)));
    assert_int_equal(ht_copy_(filled, ht_mul_scalar(x, 2)), HT_SUCCESS);
    assert_false(ht_tensor_requires_grad(filled));
    assert_false(ht_tensor_requires_grad(ht_cumsum(ht_astype(x, HT_BOOL), 0)));
    assert_true(ht_tensor_requires_grad(ht_astype(x, HT_FLOAT16)));
    assert_true(ht_tensor_requires_grad(ht_astype(x, HT_COMPLEX64)));
}

static void a_slab_of_a_replicated_tensor_is_a_copy(void **state)
{
    (void)state;
    for (int split = 0; split < 2; split++) {
        ht_tensor *x = ht_test_randn(2, shape, HT_FLOAT64, HT_NONE, 16), *before = ht_copy(x);
        ht_tensor *slab = ht_resplit(x, split);

        ht_test_expect_same(slab, before, 0);
        assert_int_equal(ht_fill_(slab, 7), HT_SUCCESS);
        ht_test_expect_same(x, before, 0);
        assert_true(ht_tensor_is_contiguous(slab));
    }
}

HT_TEST_SUITE(test_move, cmocka_unit_test(another_body_has_no_gradient_of_the_old_one),
              cmocka_unit_test(a_body_that_could_not_be_a_leaf_is_refused),
              cmocka_unit_test(a_body_of_the_same_kind_keeps_the_gradient),
              cmocka_unit_test(a_gradient_for_the_old_body_is_refused),
              cmocka_unit_test(resplit_in_place_takes_the_gradient_along),
              cmocka_unit_test(resplit_in_place_to_the_same_split_does_nothing),
              cmocka_unit_test(a_refused_move_exchanges_nothing),
              cmocka_unit_test(a_gradient_is_distributed_as_its_tensor),
              cmocka_unit_test(a_gradient_from_a_broadcast_view_is_a_copy),
              cmocka_unit_test(an_optimizer_refuses_a_state_that_does_not_fit),
              cmocka_unit_test(equal_ignores_slots_behind_the_last_axis),
              cmocka_unit_test(integers_have_no_history),
              cmocka_unit_test(a_slab_of_a_replicated_tensor_is_a_copy));
