/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Writes in place through views and bases, the graph's knowledge of them afterwards, and operands
 * that overlap the written memory. The gradients are PyTorch's. */
#include "core/tensor/tensor.h"
#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

static const int64_t four[1] = {4}, two[1] = {2}, image[2] = {5, 3};

static ht_tensor *leaf(int ndim, const int64_t *shape, int split, uint64_t seed)
{
    ht_tensor *x = ht_test_randn(ndim, shape, HT_FLOAT64, split, seed);

    ht_tensor_set_requires_grad(x, true);
    return x;
}

static void expect_gradient(ht_tensor *of_sum, ht_tensor *x, const double *expected)
{
    assert_int_equal(ht_backward(ht_sum(of_sum, HT_NONE)), HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(x), expected, 0);
}

static void a_write_to_a_view_is_known_to_its_base(void **state)
{
    (void)state;
    for (int split = -1; split < 1; split++) {
        ht_tensor *x = leaf(1, four, split < 0 ? HT_NONE : split, 1), *y = ht_mul_scalar(x, 2);

        assert_int_equal(ht_mul_scalar_(ht_narrow(y, 0, 0, 1), 3), HT_SUCCESS);
        expect_gradient(y, x, (double[]){6, 2, 2, 2});
    }
}

static void other_views_follow_a_write_to_one(void **state)
{
    ht_tensor *x = leaf(1, four, HT_NONE, 2), *y = ht_mul_scalar(x, 2);
    ht_tensor *before = ht_narrow(y, 0, 0, 2), *all = ht_reshape(y, HT_SHAPE(2, 2));

    (void)state;
    assert_int_equal(ht_mul_scalar_(ht_narrow(all, 0, 0, 1), 3), HT_SUCCESS);
    expect_gradient(before, x, (double[]){6, 6, 0, 0});
    ht_tensor_set_grad(x, NULL);
    y = ht_mul_scalar(x, 2);
    before = ht_narrow(y, 0, 1, 3);
    assert_int_equal(ht_mul_scalar_(y, 5), HT_SUCCESS); /* the base itself */
    expect_gradient(before, x, (double[]){0, 10, 10, 0});
}

static void broadcast_views_follow(void **state)
{
    (void)state;
    for (int split = -1; split < 1; split++) {
        ht_tensor *x = leaf(1, four, split < 0 ? HT_NONE : split, 11), *y = ht_mul_scalar(x, 2);
        ht_tensor *wide = ht_broadcast_to(y, HT_SHAPE(3, 4));
        ht_tensor *turned = ht_narrow(ht_transpose(wide, 0, 1), 0, 1, 3);

        assert_int_equal(ht_mul_scalar_(ht_narrow(y, 0, 0, 2), 5), HT_SUCCESS);
        expect_gradient(ht_add(ht_sum(wide, HT_NONE), ht_sum(turned, HT_NONE)), x,
                        (double[]){30, 60, 12, 6});
    }
}

/* Chains of views of split tensors, written to and read after that, against differences. */
static ht_tensor *patchwork(ht_tensor *in[], void *user)
{
    ht_tensor *y = ht_mul(in[0], in[0]), *turned = ht_transpose(y, 0, 1);
    ht_tensor *rows = ht_narrow(y, 0, 1, 4),
              *corner = ht_narrow(ht_narrow(turned, 0, 1, 3), 1, 2, 5);

    (void)user;
    assert_int_equal(ht_add_(rows, ht_narrow(in[1], 0, 0, 3), 2), HT_SUCCESS);
    assert_int_equal(ht_mul_scalar_(corner, 0.5), HT_SUCCESS);
    assert_int_equal(ht_copy_(ht_expand_dims(ht_narrow(y, 1, 0, 1), 0), ht_narrow(in[1], 1, 2, 3)),
                     HT_SUCCESS);
    assert_int_equal(ht_fill_(ht_narrow(turned, 1, 4, 5), 2), HT_SUCCESS);
    return ht_add(ht_mul(y, y), ht_mul(ht_transpose(turned, 0, 1), ht_transpose(in[1], 0, 0)));
}

static void gradients_of_writes_to_any_view(void **state)
{
    (void)state;
    for (int split = -1; split < 2; split++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *in[2] = {leaf(2, image, split < 0 ? HT_NONE : split, 3),
                            leaf(2, image, HT_NONE, 4)};

        ht_test_gradcheck(patchwork, 2, in, NULL, 1e-7);
        ht_scope_close(scope);
    }
}

static void a_copy_into_a_view_gives_its_base_a_history(void **state)
{
    ht_tensor *a = leaf(1, two, HT_NONE, 5), *buffer = ht_zeros(1, four, HT_FLOAT64, HT_NONE);
    ht_tensor *seen = ht_narrow(buffer, 0, 1, 3);

    (void)state;
    assert_int_equal(ht_copy_(ht_narrow(buffer, 0, 0, 2), a), HT_SUCCESS);
    assert_int_equal(ht_copy_(ht_narrow(buffer, 0, 2, 4), ht_mul_scalar(a, 3)), HT_SUCCESS);
    assert_true(ht_tensor_requires_grad(buffer));
    assert_true(ht_tensor_requires_grad(seen));
    expect_gradient(ht_add(ht_sum(buffer, HT_NONE), ht_sum(seen, HT_NONE)), a, (double[]){7, 5});
}

/* A tensor that took the memory of a flipped one is a base whose strides are negative. */
static void a_base_of_negative_strides_is_written_through_views(void **state)
{
    const int64_t wide[2] = {4, 1000};

    (void)state;
    for (int split = -1; split < 1; split++) {
        ht_tensor *memory = ht_zeros(2, wide, HT_FLOAT64, split < 0 ? HT_NONE : split);
        ht_tensor *x = ht_zeros_like(memory), *w = leaf(2, (int64_t[]){4, 3}, HT_NONE, 18), *seen;

        assert_int_equal(ht_tensor_set_(x, ht_flip(memory, HT_AXES(1))), HT_SUCCESS);
        seen = ht_narrow(x, 1, 1, 3);
        assert_int_equal(ht_copy_(ht_narrow(x, 1, 0, 3), w), HT_SUCCESS);
        assert_int_equal(ht_backward(ht_add(ht_sum(x, HT_NONE), ht_sum(seen, HT_NONE))),
                         HT_SUCCESS);
        ht_test_expect(ht_tensor_grad(w), (double[]){1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2}, 0);
    }
}

/* A result whose elements had to change ranks is not a view, although it looks like one. */
static void a_copy_that_could_not_be_a_view_is_written(void **state)
{
    ht_tensor *a = leaf(1, two, HT_NONE, 12), *x = ht_zeros(HT_SHAPE(4, 3), HT_FLOAT64, 1);
    ht_tensor *y = ht_reshape(x, HT_SHAPE(6, 2));

    (void)state;
    assert_int_equal(ht_copy_(y, a), HT_SUCCESS);
    expect_gradient(y, a, (double[]){6, 6});
}

static void views_of_leaves_are_refused_as_leaves_are(void **state)
{
    ht_tensor *x = leaf(1, four, HT_NONE, 6), *view = ht_narrow(x, 0, 0, 2);
    ht_tensor *cut = ht_detach(ht_mul_scalar(x, 2));
    bool was;

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_fill_(view, 1), HT_ERR_STATE, "a view of a leaf that requires");
    HT_TEST_EXPECT_ERROR(ht_mul_scalar_(view, 2), HT_ERR_STATE, "ht_mul_scalar_: a is a view of");
    HT_TEST_EXPECT_ERROR(ht_copy_(cut, x), HT_ERR_STATE, "a view without history");
    assert_int_equal(ht_fill_(cut, 1), HT_SUCCESS);
    was = ht_set_grad_enabled(false);
    assert_int_equal(ht_fill_(view, 1), HT_SUCCESS);
    assert_int_equal(ht_copy_(cut, x), HT_SUCCESS);
    ht_set_grad_enabled(was);
    expect_gradient(ht_mul_scalar(view, 2), x, (double[]){2, 2, 0, 0});
}

/* Views of tensors that were cut off are cut off too, whichever of them is written. */
static void views_of_cut_off_views_are_read(void **state)
{
    ht_tensor *x = leaf(1, four, HT_NONE, 15), *y = ht_mul_scalar(x, 2);
    ht_tensor *cut = ht_detach(y), *part = ht_narrow(cut, 0, 1, 3), *z;

    (void)state;
    assert_int_equal(ht_fill_(ht_narrow(y, 0, 0, 2), 7), HT_SUCCESS);
    z = ht_mul_scalar(part, 3);
    assert_non_null(z);
    assert_false(ht_tensor_requires_grad(z));
    assert_int_equal(ht_fill_(part, 1), HT_SUCCESS);
    assert_non_null(ht_narrow(part, 0, 0, 1));
}

/* A tensor that is filled, drawn or received has no history: its earlier operands get no gradient.
 */
static void filled_tensors_have_no_history(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        ht_tensor *x = leaf(1, four, HT_NONE, 7), *y = ht_mul_scalar(x, 2),
                  *z = ht_mul_scalar(x, 3);
        ht_tensor *part = ht_narrow(y, 0, 1, 2);
        ht_status status = kind == 0   ? ht_fill_(part, 1)
                           : kind == 1 ? ht_uniform_(part, 0, 1)
                                       : ht_normal_(part, 0, 1);

        assert_int_equal(status, HT_SUCCESS);
        status = kind == 0   ? ht_fill_(z, 1)
                 : kind == 1 ? ht_uniform_(z, 0, 1)
                             : ht_normal_(z, 0, 1);
        assert_int_equal(status, HT_SUCCESS);
        assert_false(ht_tensor_requires_grad(z));
        assert_false(ht_tensor_requires_grad(ht_narrow(z, 0, 0, 1)));
        expect_gradient(ht_add(y, z), x, (double[]){2, 0, 2, 2});
    }
}

static void communication_into_a_graph_is_refused(void **state)
{
    ht_tensor *x = leaf(1, four, HT_NONE, 8), *y = ht_mul_scalar(x, 2);
    ht_tensor *part, *plain = ht_ones(1, four, HT_FLOAT64, HT_NONE);
    ht_tensor *loss = ht_sum(y, HT_NONE);
    bool was;

    (void)state;
    assert_int_equal(ht_backward(loss), HT_SUCCESS);
    assert_int_equal(ht_allreduce(HT_COMM_WORLD, loss, loss, HT_OP_SUM), HT_SUCCESS);
    y = ht_mul_scalar(x, 2);
    part = ht_narrow(y, 0, 0, 2);
    HT_TEST_EXPECT_ERROR(ht_allreduce(HT_COMM_WORLD, y, y, HT_OP_SUM), HT_ERR_STATE,
                         "have no gradient");
    HT_TEST_EXPECT_ERROR(ht_allreduce(HT_COMM_WORLD, part, part, HT_OP_SUM), HT_ERR_STATE,
                         "have no gradient");
    assert_int_equal(ht_allreduce(HT_COMM_WORLD, y, plain, HT_OP_SUM), HT_SUCCESS);
    was = ht_set_grad_enabled(false);
    assert_int_equal(ht_allreduce(HT_COMM_WORLD, y, y, HT_OP_SUM), HT_SUCCESS);
    assert_int_equal(ht_bcast(HT_COMM_WORLD, x, 0), HT_SUCCESS);
    ht_set_grad_enabled(was);
    assert_int_equal(ht_bcast(HT_COMM_WORLD, x, 0), HT_SUCCESS); /* a leaf's new values */
}

/* On the root, too, although nothing changes there: otherwise it alone would continue and wait for
 * the others. */
static void a_bcast_counts_as_a_write_on_every_rank(void **state)
{
    ht_tensor *x = leaf(1, four, HT_NONE, 17), *y = ht_mul(x, x);

    (void)state;
    assert_int_equal(ht_bcast(HT_COMM_WORLD, x, ht_test_size - 1), HT_SUCCESS);
    HT_TEST_EXPECT_ERROR(ht_backward(ht_sum(y, HT_NONE)), HT_ERR_STATE, "changed in place");
}

/* A handle that shares memory with another one without being a view of it cannot follow. */
static void a_handle_that_cannot_follow_a_write_is_an_error(void **state)
{
    ht_tensor *a = leaf(1, four, HT_NONE, 9), *y = ht_zeros(1, four, HT_FLOAT64, HT_NONE);
    ht_tensor *alias = ht_zeros(1, four, HT_FLOAT64, HT_NONE);

    (void)state;
    ht_tensor_set_(alias, y);
    assert_int_equal(ht_copy_(y, a), HT_SUCCESS);
    HT_TEST_EXPECT_ERROR(ht_mul_scalar(alias, 2), HT_ERR_STATE, "shares its memory");
    HT_TEST_EXPECT_ERROR(ht_flip(alias, HT_AXES(0)), HT_ERR_STATE, "shares its memory");
    HT_TEST_EXPECT_ERROR(ht_fill_(alias, 2), HT_ERR_STATE, "ht_fill_: x was written to");
    HT_TEST_EXPECT_ERROR(ht_mul_(alias, a), HT_ERR_STATE, "ht_mul_: a was written to");
}

/* Backward functions that need a value which was overwritten give an error. */
static void backward_of_layers_reports_changed_operands(void **state)
{
    const int64_t images[4] = {1, 1, 3, 3}, kernel[4] = {1, 1, 2, 2};

    (void)state;
    for (int which = 0; which < 4; which++) {
        ht_tensor *x = which < 2 ? leaf(2, image, HT_NONE, 13) : leaf(4, images, HT_NONE, 13);
        ht_tensor *weight = which < 2 ? leaf(2, image, HT_NONE, 14) : leaf(4, kernel, HT_NONE, 14);
        ht_tensor *y = which < 2 ? ht_linear(x, weight, NULL) : ht_conv2d(x, weight, NULL, NULL);
        bool was = ht_set_grad_enabled(false);

        ht_fill_(which % 2 == 0 ? x : weight, 0);
        ht_set_grad_enabled(was);
        HT_TEST_EXPECT_ERROR(ht_backward(ht_sum(y, HT_NONE)), HT_ERR_STATE, "changed in place");
    }
}

static void a_failed_in_place_call_writes_nothing(void **state)
{
    ht_tensor *x = ht_ones(1, four, HT_COMPLEX128, HT_NONE), *y;

    (void)state;
    ht_tensor_set_requires_grad(x, true);
    y = ht_sqrt(x);
    HT_TEST_EXPECT_ERROR(ht_relu_(y), HT_ERR_DTYPE, "ht_relu_: not defined for complex128");
    assert_int_equal(ht_backward_ext(y, ht_ones_like(y), false), HT_SUCCESS);
}

static void copies_read_before_they_write(void **state)
{
    (void)state;
    for (int split = -1; split < 2; split++) {
        ht_tensor *x = ht_test_randn(HT_SHAPE(7, 7), HT_FLOAT64, split < 0 ? HT_NONE : split, 10);
        ht_tensor *before = ht_copy(x), *turned = ht_copy(ht_transpose(x, 0, 1));

        assert_int_equal(ht_copy_(x, ht_transpose(x, 0, 1)), HT_SUCCESS);
        ht_test_expect_same(x, turned, 0);
        ht_copy_(x, before);
        for (int axis = 0; axis < 2; axis++) {
            ht_tensor *to = ht_narrow(x, axis, 1, 7), *from = ht_narrow(x, axis, 0, 6);
            ht_tensor *expected = ht_copy(from);

            assert_int_equal(ht_copy_(to, from), HT_SUCCESS);
            ht_test_expect_same(to, expected, 0);
            expected = ht_copy(to);
            assert_int_equal(ht_copy_(from, to), HT_SUCCESS);
            ht_test_expect_same(from, expected, 0);
            expected = ht_add(to, from);
            assert_int_equal(ht_add_(to, from, 1), HT_SUCCESS);
            ht_test_expect_same(to, expected, 0);
        }
        before = ht_copy(x);
        assert_int_equal(ht_copy_(x, ht_narrow(x, 0, 2, 3)), HT_SUCCESS);
        ht_test_expect_same(x, ht_copy(ht_broadcast_to(ht_narrow(before, 0, 2, 3), HT_SHAPE(7, 7))),
                            0);
    }
}

/* The calls of a hook: their number, and the first element of the last gradient; the hook doubles
 * it. */
typedef struct sight {
    int times;
    double value;
} sight;

static ht_tensor *look(ht_tensor *grad, void *user)
{
    sight *seen = user;

    seen->times++;
    seen->value = ht_item(ht_narrow(grad, 0, 0, 1));
    return ht_mul_scalar(grad, 2);
}

static ht_status times_three(ht_tensor *y)
{
    return ht_mul_scalar_(y, 3);
}

static ht_status part_times_three(ht_tensor *y)
{
    return ht_mul_scalar_(ht_narrow(y, 0, 0, 2), 3);
}

static ht_status positive_times_one(ht_tensor *y)
{
    return ht_relu_(y);
}

static void hooks_belong_to_the_value_they_were_given_for(void **state)
{
    static const struct {
        ht_status (*write)(ht_tensor *y);
        double slope;
    } writes[] = {{times_three, 3}, {part_times_three, 3}, {positive_times_one, 1}};

    (void)state;
    for (int i = 0; i < 6; i++) {
        sight before = {0}, after = {0}, removed = {0};
        ht_tensor *x = ht_ones(1, four, HT_FLOAT64, i % 2 == 0 ? HT_NONE : 0), *y;
        double slope = writes[i / 2].slope;
        uint64_t id;

        ht_tensor_set_requires_grad(x, true);
        y = ht_mul_scalar(x, 5);
        id = ht_tensor_register_hook(y, look, &removed);
        ht_tensor_register_hook(y, look, &before);
        assert_int_equal(writes[i / 2].write(y), HT_SUCCESS);
        assert_int_equal(ht_tensor_remove_hook(y, id), HT_SUCCESS);
        ht_tensor_register_hook(y, look, &after);
        assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
        assert_int_equal(after.times, 1);
        assert_true(after.value == 1);
        assert_int_equal(before.times, 1);
        assert_true(before.value == 2 * slope);
        assert_int_equal(removed.times, 0);
        assert_true(ht_item(ht_narrow(ht_tensor_grad(x), 0, 0, 1)) == 4 * slope * 5);
    }
}

/* They have no gradient to know of: what needs one may be written to them through any view. */
static void integers_are_written_through_cut_off_views(void **state)
{
    ht_tensor *x = ht_zeros(1, four, HT_UINT8, HT_NONE), *cut = ht_detach(x);
    ht_tensor *values = ht_mul_scalar(leaf(1, four, HT_NONE, 1), 0);

    (void)state;
    assert_int_equal(ht_copy_(cut, ht_add_scalar(values, 5)), HT_SUCCESS);
    ht_test_expect_same(ht_astype(x, HT_FLOAT64), ht_full(1, four, 5, HT_FLOAT64, HT_NONE), 0);
}

HT_TEST_SUITE(test_history, cmocka_unit_test(a_write_to_a_view_is_known_to_its_base),
              cmocka_unit_test(other_views_follow_a_write_to_one),
              cmocka_unit_test(broadcast_views_follow),
              cmocka_unit_test(gradients_of_writes_to_any_view),
              cmocka_unit_test(integers_are_written_through_cut_off_views),
              cmocka_unit_test(a_copy_into_a_view_gives_its_base_a_history),
              cmocka_unit_test(a_base_of_negative_strides_is_written_through_views),
              cmocka_unit_test(a_copy_that_could_not_be_a_view_is_written),
              cmocka_unit_test(views_of_leaves_are_refused_as_leaves_are),
              cmocka_unit_test(views_of_cut_off_views_are_read),
              cmocka_unit_test(filled_tensors_have_no_history),
              cmocka_unit_test(communication_into_a_graph_is_refused),
              cmocka_unit_test(a_bcast_counts_as_a_write_on_every_rank),
              cmocka_unit_test(a_handle_that_cannot_follow_a_write_is_an_error),
              cmocka_unit_test(backward_of_layers_reports_changed_operands),
              cmocka_unit_test(a_failed_in_place_call_writes_nothing),
              cmocka_unit_test(copies_read_before_they_write),
              cmocka_unit_test(hooks_belong_to_the_value_they_were_given_for));
