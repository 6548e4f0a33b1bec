/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/tensor/tensor.h"
#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

static const int64_t square[2] = {4, 3}, row[1] = {3}, back[2] = {3, 5};

static int split_of(int i)
{
    return i < 0 ? HT_NONE : i;
}

static ht_tensor *leaf(int ndim, const int64_t *shape, int split, uint64_t seed)
{
    ht_tensor *x = ht_test_randn(ndim, shape, HT_FLOAT64, split, seed);

    assert_int_equal(ht_tensor_set_requires_grad(x, true), HT_SUCCESS);
    return x;
}

static ht_tensor *arithmetic(ht_tensor *in[], void *user)
{
    (void)user;
    return ht_div(ht_mul(ht_add(in[0], in[1]), ht_sub(in[0], in[1])),
                  ht_add_scalar(ht_mul(in[1], in[1]), 2));
}

static ht_tensor *reductions(ht_tensor *in[], void *user)
{
    int axis = *(int *)user;

    return ht_add(ht_mul(ht_sum(in[0], axis), ht_std(in[0], axis)),
                  ht_mul(ht_max(in[0], axis), ht_prod(in[0], axis)));
}

static ht_tensor *cumulative(ht_tensor *in[], void *user)
{
    return ht_mul(ht_cumsum(in[0], *(int *)user), in[0]);
}

static ht_tensor *product(ht_tensor *in[], void *user)
{
    (void)user;
    return ht_matmul(in[0], in[1]);
}

static ht_tensor *shapes(ht_tensor *in[], void *user)
{
    ht_tensor *t = ht_transpose(in[0], 0, 1), *flat = ht_flatten(t, 0);
    ht_tensor *both[2] = {ht_narrow(flat, 0, 2, 9), ht_reshape(in[0], HT_SHAPE(-1))};
    ht_tensor *joined = ht_concatenate(2, both, 0);

    return ht_mul(ht_resplit(joined, split_of(*(int *)user)), joined);
}

static void gradients_agree_with_finite_differences(void **state)
{
    (void)state;
    for (int split = -1; split < 2; split++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *two[2] = {leaf(2, square, split_of(split), 1), leaf(1, row, HT_NONE, 2)};

        ht_test_gradcheck(arithmetic, 2, two, NULL, 1e-7);
        for (int axis = -1; axis < 2; axis++)
            ht_test_gradcheck(reductions, 1, two, &(int){split_of(axis)}, 1e-7);
        for (int axis = 0; axis < 2; axis++)
            ht_test_gradcheck(cumulative, 1, two, &axis, 1e-7);
        for (int to = -1; to < 1; to++)
            ht_test_gradcheck(shapes, 1, two, &to, 1e-7);
        for (int other = -1; other < 2; other++) {
            ht_tensor *pair[2] = {two[0], leaf(2, back, split_of(other), 3)};

            ht_test_gradcheck(product, 2, pair, NULL, 1e-7);
        }
        ht_scope_close(scope);
    }
}

static void gradients_accumulate_until_removed(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = leaf(1, row, HT_NONE, 4);

    for (int i = 0; i < 3; i++)
        assert_int_equal(ht_backward(ht_sum(ht_mul_scalar(x, 2), HT_NONE)), HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(x), (double[]){6, 6, 6}, 0);
    ht_tensor_set_grad(x, NULL);
    assert_null(ht_tensor_grad(x));
    ht_scope_close(scope);
}

/* a + b hands one tensor to both leaves: each must own its gradient. */
static void leaves_do_not_share_a_gradient(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *a = leaf(1, row, HT_NONE, 5), *b = leaf(1, row, HT_NONE, 6);

    for (int i = 0; i < 2; i++)
        assert_int_equal(ht_backward(ht_sum(ht_add(ht_add(a, b), a), HT_NONE)), HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(a), (double[]){4, 4, 4}, 0);
    ht_test_expect(ht_tensor_grad(b), (double[]){2, 2, 2}, 0);
    ht_scope_close(scope);
}

static ht_tensor *twice(ht_tensor *grad, void *user)
{
    ++*(int *)user;
    return ht_mul_scalar(grad, 2);
}

static void count_ready(ht_tensor *x, void *user)
{
    assert_non_null(ht_tensor_grad(x));
    ++*(int *)user;
}

static void hooks_see_and_replace_gradients(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = leaf(1, row, HT_NONE, 7), *y = ht_mul_scalar(x, 3);
    int seen = 0, ready = 0;
    uint64_t id = ht_tensor_register_hook(y, twice, &seen);

    ht_tensor_register_grad_ready_hook(x, count_ready, &ready);
    assert_int_equal(ht_backward_ext(ht_sum(y, HT_NONE), NULL, true), HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(x), (double[]){6, 6, 6}, 0);
    assert_int_equal(ht_tensor_remove_hook(y, id), HT_SUCCESS);
    assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(x), (double[]){9, 9, 9}, 0);
    assert_int_equal(seen, 1);
    assert_int_equal(ready, 2);
    ht_scope_close(scope);
}

typedef struct one_shot {
    ht_tensor *x;
    uint64_t id, other; /* itself, and one that it removes, too */
    int runs;
} one_shot;

static ht_tensor *remove_itself(ht_tensor *grad, void *user)
{
    one_shot *shot = user;

    (void)grad;
    shot->runs++;
    assert_int_equal(ht_tensor_remove_hook(shot->x, shot->id), HT_SUCCESS);
    return NULL;
}

static void remove_both(ht_tensor *leaf, void *user)
{
    one_shot *shot = user;

    shot->runs++;
    assert_int_equal(ht_tensor_remove_hook(leaf, shot->id), HT_SUCCESS);
    assert_int_equal(ht_tensor_remove_hook(leaf, shot->other), HT_SUCCESS);
}

/* Each other hook runs; a removed one does not, and an added one waits for the next pass. */
static void hooks_may_remove_each_other(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = leaf(1, row, HT_NONE, 13);
    int seen = 0, ready[2] = {0, 0};
    one_shot gradient = {.x = x}, both = {.x = x};

    gradient.id = ht_tensor_register_hook(x, remove_itself, &gradient);
    ht_tensor_register_hook(x, twice, &seen);
    both.id = ht_tensor_register_grad_ready_hook(x, remove_both, &both);
    both.other = ht_tensor_register_grad_ready_hook(x, count_ready, &ready[0]);
    ht_tensor_register_grad_ready_hook(x, count_ready, &ready[1]);
    for (int i = 0; i < 2; i++)
        assert_int_equal(ht_backward(ht_sum(x, HT_NONE)), HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(x), (double[]){4, 4, 4}, 0);
    assert_int_equal(gradient.runs, 1);
    assert_int_equal(seen, 2);
    assert_int_equal(both.runs, 1);
    assert_int_equal(ready[0], 0);
    assert_int_equal(ready[1], 2);
    HT_TEST_EXPECT_ERROR(ht_tensor_remove_hook(x, gradient.id), HT_ERR_ARGUMENT, "hook of x");
    ht_scope_close(scope);
}

static ht_tensor *give(ht_tensor *grad, void *user)
{
    (void)grad;
    return user;
}

/* The operand that was not taken gets a gradient of 0, not of NaN, from an infinite one. */
static void extremes_pass_infinities_to_what_they_took(void **state)
{
    const double expected[2][3] = {{0, 0, INFINITY}, {INFINITY, INFINITY, 0}};
    ht_tensor *seed = ht_full(1, row, INFINITY, HT_FLOAT64, HT_NONE);
    ht_tensor *a = ht_array((double[]){0, 1, 2}, 1, row, HT_FLOAT64, 0);
    ht_tensor *b = ht_array((double[]){1, 2, 0}, 1, row, HT_FLOAT64, HT_NONE);

    (void)state;
    ht_tensor_set_requires_grad(a, true);
    ht_tensor_set_requires_grad(b, true);
    assert_int_equal(ht_backward_ext(ht_maximum(a, b), seed, false), HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(a), expected[0], 0);
    ht_test_expect(ht_tensor_grad(b), expected[1], 0);

    ht_tensor_set_grad(a, NULL);
    assert_int_equal(
        ht_backward_ext(ht_max(a, 0), ht_full(0, NULL, INFINITY, HT_FLOAT64, HT_NONE), false),
        HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(a), expected[0], 0);
}

static void given_gradients_are_checked(void **state)
{
    (void)state;
    const int64_t larger[2] = {2, 3};
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = leaf(1, row, 0, 14), *y = ht_neg(x), *wrong[4];
    int count = ht_test_size > 1 ? 4 : 3;

    wrong[0] = ht_ones(2, larger, HT_FLOAT64, HT_NONE); /* was summed */
    wrong[1] = ht_ones(1, larger, HT_FLOAT64, HT_NONE);
    wrong[2] = ht_ones(1, row, HT_COMPLEX64, HT_NONE);
    wrong[3] = ht_array((double[]){1, 1, 1}, 1, row, HT_FLOAT64, HT_LOCAL);
    for (int i = 0; i < count; i++) {
        uint64_t id;

        HT_TEST_EXPECT_ERROR(ht_backward_ext(y, wrong[i], true), HT_ERR_SHAPE,
                             "ht_backward_ext: grad is");
        for (int inner = 0; inner < 2; inner++) {
            id = ht_tensor_register_hook(inner ? y : x, give, wrong[i]);
            HT_TEST_EXPECT_ERROR(ht_backward_ext(y, NULL, true), HT_ERR_SHAPE,
                                 "the gradient that a hook returned is");
            ht_tensor_remove_hook(inner ? y : x, id);
        }
        assert_null(ht_tensor_grad(x));
    }
    ht_tensor_register_hook(x, give, ht_full(1, row, 3, HT_FLOAT32, HT_NONE));
    assert_int_equal(ht_backward_ext(y, ht_ones(1, row, HT_FLOAT32, HT_NONE), false), HT_SUCCESS);
    assert_int_equal(ht_tensor_split(ht_tensor_grad(x)), 0);
    ht_test_expect(ht_tensor_grad(x), (double[]){3, 3, 3}, 0);
    ht_scope_close(scope);
}

/* It is the program's until the program clears it; backward neither takes it for its own. */
static void an_earlier_error_stays(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = leaf(1, row, HT_NONE, 15);
    const char *text;

    ht__error_set(HT_ERR_IO, "of before");
    assert_int_equal(ht_backward(ht_sum(ht_exp(x), HT_NONE)), HT_SUCCESS);
    ht_test_expect_same(ht_tensor_grad(x), ht_exp(x), 0);
    assert_int_equal(ht_error_get(&text), HT_ERR_IO);
    assert_string_equal(text, "of before");
    assert_int_equal(ht_backward(NULL), HT_ERR_IO);
    assert_int_equal(ht_backward_ext(NULL, NULL, false), HT_ERR_IO);
    ht_error_clear();
    HT_TEST_EXPECT_ERROR(ht_backward(NULL), HT_ERR_ARGUMENT, "ht_backward: loss is NULL");
    ht_scope_close(scope);
}

static void a_deep_graph_is_released_without_recursion(void **state)
{
    (void)state;
    const int depth = ht_test_size == 1 ? 1000000 : 10000;
    int64_t nodes = ht_live_objects("node");
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = leaf(1, row, HT_NONE, 8), *y = ht_retain(x);

    for (int i = 0; i < depth; i++) {
        ht_scope *step = ht_scope_open();
        ht_tensor *next = ht_retain(ht_neg(y));

        ht_release(y);
        y = next;
        ht_scope_close(step);
    }
    assert_int_equal(ht_live_objects("node"), nodes + depth);
    ht_release(y);
    assert_int_equal(ht_live_objects("node"), nodes);
    ht_scope_close(scope);
}

/* exp saves its own output: neither may keep the other alive. */
static void a_node_that_saves_its_output_is_freed(void **state)
{
    (void)state;
    int64_t bodies = ht_live_objects("body"), nodes = ht_live_objects("node");
    ht_scope *scope = ht_scope_open();

    ht_exp(leaf(1, row, HT_NONE, 9));
    ht_scope_close(scope);
    assert_int_equal(ht_live_objects("body"), bodies);
    assert_int_equal(ht_live_objects("node"), nodes);
}

static ht_tensor *std_ext(ht_tensor *x)
{
    ht_reduce_options options = ht_reduce_options_default();

    options.where = ht_ones(HT_SHAPE(3), HT_BOOL, ht_tensor_split(x));
    return ht_std_ext(x, &options);
}

static ht_tensor *std_of_all(ht_tensor *x)
{
    return ht_std(x, HT_NONE);
}

static ht_tensor *norm_3(ht_tensor *x)
{
    return ht_vector_norm(x, 3, HT_NONE, false);
}

static ht_tensor *atan2_of_both(ht_tensor *x)
{
    return ht_atan2(x, x);
}

static ht_tensor *hypot_of_both(ht_tensor *x)
{
    return ht_hypot(x, x);
}

static ht_tensor *distance_of_none(ht_tensor *x)
{
    ht_tensor *rows = ht_expand_dims(x, 1);

    return ht_cdist(rows, ht_detach(rows), false);
}

/* 0 is taken as the gradient in place of 0 / 0. */
static void gradients_at_singular_points_are_zero(void **state)
{
    static ht_tensor *(*const functions[])(ht_tensor *) = {
        std_of_all,    std_ext,       ht_norm,          norm_3,
        atan2_of_both, hypot_of_both, distance_of_none, ht_abs,
    };

    (void)state;
    for (int f = 0; f < (int)(sizeof functions / sizeof *functions); f++)
        for (int split = HT_NONE, i = 0; i < 2; split = 0, i++) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *x = ht_zeros(HT_SHAPE(3), HT_FLOAT64, split);

            print_message("function %d\n", f);
            ht_tensor_set_requires_grad(x, true);
            assert_int_equal(ht_backward(ht_sum(functions[f](x), HT_NONE)), HT_SUCCESS);
            ht_test_expect(ht_tensor_grad(x), (double[]){0, 0, 0}, 0);
            ht_scope_close(scope);
        }
}

static void fail_when_ready(ht_tensor *x, void *message)
{
    (void)x;
    ht__error_set(HT_ERR_STATE, "%s", (const char *)message);
}

/* A hook has no status of its own to return: backward returns it, with its text. */
static void an_error_in_a_hook_is_that_of_backward(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = leaf(1, row, HT_NONE, 11), *y = leaf(1, row, HT_NONE, 12);
    const char *text;

    /* y is ready after the first node, and x after others that begin without an error. */
    ht_tensor_register_grad_ready_hook(y, fail_when_ready, "the hook of y");
    assert_int_equal(ht_backward(ht_sum(ht_mul(ht_exp(ht_neg(x)), y), HT_NONE)), HT_ERR_STATE);
    assert_int_equal(ht_error_get(&text), HT_ERR_STATE);
    assert_string_equal(text, "the hook of y");
    assert_null(ht_tensor_grad(x));

    /* An error of before is not one of backward. */
    assert_int_equal(ht_backward(ht_sum(ht_exp(x), HT_NONE)), HT_SUCCESS);
    ht_scope_close(scope);
}

static void misuse_is_reported(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = leaf(1, row, HT_NONE, 10), *y = ht_exp(x), *loss = ht_sum(y, HT_NONE);

    HT_TEST_EXPECT_ERROR(ht_backward(y), HT_ERR_SHAPE, "expected one element");
    HT_TEST_EXPECT_ERROR(ht_fill_(x, 0), HT_ERR_STATE, "leaf that requires gradients");
    assert_int_equal(ht_mul_scalar_(ht_detach(y), 2), HT_SUCCESS);
    HT_TEST_EXPECT_ERROR(ht_backward(loss), HT_ERR_STATE, "that ht_exp saved has been changed");
    loss = ht_sum(ht_neg(x), HT_NONE);
    assert_int_equal(ht_backward(loss), HT_SUCCESS);
    HT_TEST_EXPECT_ERROR(ht_backward(loss), HT_ERR_STATE,
                         "was released by an earlier backward pass");
    HT_TEST_EXPECT_ERROR(ht_backward(ht_sum(ht_detach(x), HT_NONE)), HT_ERR_STATE,
                         "does not depend on a tensor that requires a gradient");
    ht_scope_close(scope);
}

HT_TEST_SUITE(test_autograd, cmocka_unit_test(gradients_agree_with_finite_differences),
              cmocka_unit_test(gradients_accumulate_until_removed),
              cmocka_unit_test(leaves_do_not_share_a_gradient),
              cmocka_unit_test(hooks_see_and_replace_gradients),
              cmocka_unit_test(hooks_may_remove_each_other),
              cmocka_unit_test(extremes_pass_infinities_to_what_they_took),
              cmocka_unit_test(given_gradients_are_checked),
              cmocka_unit_test(an_earlier_error_stays),
              cmocka_unit_test(a_deep_graph_is_released_without_recursion),
              cmocka_unit_test(a_node_that_saves_its_output_is_freed),
              cmocka_unit_test(gradients_at_singular_points_are_zero),
              cmocka_unit_test(an_error_in_a_hook_is_that_of_backward),
              cmocka_unit_test(misuse_is_reported));
