/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Numbers as operands (ht_scalar): the dtype that they give, exactness, gradients, and what they
 * are everywhere else. */
#include <complex.h>
#include <math.h>

#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

typedef ht_tensor *binary_fn(ht_tensor *, ht_tensor *);

/* The first integer that double does not have. */
static const int64_t odd = (INT64_C(1) << 53) + 1;

static ht_tensor *integers(int64_t value, ht_dtype dtype)
{
    return ht_full_ext(HT_SHAPE(3), HT_NUM(value), dtype, 0, ht_get_device(), ht_get_comm());
}

static bool is_exact(ht_dtype dtype)
{
    return dtype == HT_BOOL || ht_dtype_is_integer(dtype);
}

static ht_dtype complex_of_dtype(ht_dtype dtype)
{
    return dtype == HT_FLOAT64 || dtype == HT_COMPLEX128 ? HT_COMPLEX128 : HT_COMPLEX64;
}

static ht_dtype of_both(binary_fn *f, ht_tensor *a, ht_tensor *b)
{
    assert_int_equal(ht_tensor_dtype(f(a, b)), ht_tensor_dtype(f(b, a)));
    return ht_tensor_dtype(f(a, b));
}

static void numbers_raise_the_kind_and_not_the_size_of_a_dtype(void **state)
{
    (void)state;
    for (int i = 0; i < HT_DTYPE_COUNT; i++) {
        const ht_dtype dtype = (ht_dtype)i;
        ht_tensor *x = ht_ones(HT_SHAPE(3), dtype, 0);
        const ht_dtype with_a_whole = dtype == HT_BOOL ? HT_INT64 : dtype;
        const ht_dtype with_a_real = is_exact(dtype) ? HT_FLOAT32 : dtype;

        assert_int_equal(of_both(ht_mul, x, ht_scalar(2)), with_a_whole);
        assert_int_equal(of_both(ht_mul, x, ht_scalar_ext(HT_NUM(2))), with_a_whole);
        assert_int_equal(of_both(ht_mul, x, ht_scalar(0.5)), with_a_real);
        assert_int_equal(of_both(ht_mul, x, ht_scalar(-0.0)), with_a_real);
        assert_int_equal(of_both(ht_mul, x, ht_scalar(INFINITY)), with_a_real);
        assert_int_equal(of_both(ht_mul, x, ht_scalar_ext(HT_NUM(2.0))), with_a_real);
        assert_int_equal(of_both(ht_add, x, ht_scalar_ext(HT_COMPLEX(0, 1))),
                         complex_of_dtype(dtype));
    }
}

/* Tensors without axes raise the kind of a result; a number does so no more than in operations with
 * other tensors. */
static void numbers_do_not_promote_0d_tensors(void **state)
{
    ht_tensor *point = ht_full(0, NULL, 3, HT_FLOAT32, HT_NONE);
    ht_tensor *n = ht_full(0, NULL, 3, HT_INT32, HT_NONE);
    ht_tensor *sum = ht_add(ht_scalar_ext(HT_NUM(odd)), ht_scalar(1));

    (void)state;
    assert_int_equal(ht_tensor_dtype(ht_add(point, ht_scalar(0.1))), HT_FLOAT32);
    assert_int_equal(ht_tensor_dtype(ht_add(ht_scalar(1), n)), HT_INT32);
    assert_int_equal(ht_tensor_dtype(ht_add(n, ht_scalar(0.5))), HT_FLOAT32);
    assert_int_equal(ht_tensor_dtype(sum), HT_INT64);
    assert_int_equal(ht_tensor_ndim(sum), 0);
    assert_ptr_equal(ht_tensor_comm(sum), HT_COMM_SELF);
    assert_true(ht_item_ext(sum).integer == odd + 1);
    assert_true(ht_item(ht_add(ht_scalar(1), ht_scalar(0.1))) == 1.1);
    assert_int_equal(ht_tensor_dtype(ht_mul(ht_scalar(2), ht_scalar_ext(HT_COMPLEX(0, 1)))),
                     HT_COMPLEX128);
}

static bool all_are(ht_tensor *x, int64_t value)
{
    const ht_number least = ht_item_ext(ht_min(x, HT_NONE)), most = ht_item_ext(ht_max(x, HT_NONE));

    return ht_tensor_dtype(x) == HT_INT64 && least.integer == value && most.integer == value;
}

static void integers_are_exact(void **state)
{
    ht_tensor *x = integers(odd, HT_INT64), *number = ht_scalar_ext(HT_NUM(odd));

    (void)state;
    assert_true(all_are(ht_add(x, number), 2 * odd));
    assert_true(all_are(ht_sub(number, x), 0));
    assert_true(all_are(ht_mul(ht_scalar(3), x), 3 * odd));
    assert_true(all_are(ht_maximum(integers(0, HT_INT64), number), odd));
    assert_true(all_are(ht_bitwise_and(x, number), odd));
    assert_true(all_are(ht_where(ht_eq(x, number), number, ht_scalar(0)), odd));
    assert_int_equal(ht_item(ht_all(ht_eq(x, ht_scalar_ext(HT_NUM(odd - 1))), HT_NONE)), 0);
    assert_true(all_are(ht_add(x, ht_scalar_ext(HT_NUM(INT64_MAX))), INT64_MIN + odd - 1));
}

static void out_of_range_is_an_error(void **state)
{
    ht_tensor *bytes = integers(7, HT_UINT8);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_add(bytes, ht_scalar(-1)), HT_ERR_ARGUMENT, "ht_add: ");
    HT_TEST_EXPECT_ERROR(ht_add(ht_scalar(256), bytes), HT_ERR_ARGUMENT, "ht_add: ");
    HT_TEST_EXPECT_ERROR(ht_gt(bytes, ht_scalar(300)), HT_ERR_ARGUMENT, "ht_gt: ");
    HT_TEST_EXPECT_ERROR(ht_where(ht_gt(bytes, ht_scalar(3)), bytes, ht_scalar(-1)),
                         HT_ERR_ARGUMENT, "ht_where: ");
    HT_TEST_EXPECT_ERROR(ht_sub_(bytes, ht_scalar(1e3)), HT_ERR_ARGUMENT, "ht_sub_: ");
    HT_TEST_EXPECT_ERROR(ht_pow(integers(2, HT_INT8), ht_scalar(128)), HT_ERR_ARGUMENT, "ht_pow: ");
    ht_test_expect(ht_add(bytes, ht_scalar(255)), (double[]){6, 6, 6}, 0);
    ht_test_expect(ht_div(bytes, ht_scalar(700)), (double[]){0.01, 0.01, 0.01}, 1e-7);
    assert_int_equal(ht_tensor_dtype(ht_add(integers(7, HT_INT64), ht_scalar(0x1p63))), HT_FLOAT32);
}

/* With an empty tensor, and on a rank without a part, too. */
static void out_of_range_is_an_error_of_no_elements(void **state)
{
    ht_tensor *none = ht_ones(HT_SHAPE(0, 4), HT_UINT8, 0),
              *one = ht_ones(HT_SHAPE(1), HT_UINT8, 0);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_add(none, ht_scalar(-1)), HT_ERR_ARGUMENT, "ht_add: ");
    HT_TEST_EXPECT_ERROR(ht_add(one, ht_scalar(-1)), HT_ERR_ARGUMENT, "ht_add: ");
    assert_int_equal(ht_tensor_size(ht_add(none, ht_scalar(1))), 0);
}

static void zero_keeps_its_sign(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(3), HT_FLOAT32, 0);
    const double minus[] = {-1, -1, -1}, plus[] = {1, 1, 1};

    (void)state;
    assert_true(signbit(ht_item(ht_scalar(-0.0))));
    assert_int_equal(ht_tensor_dtype(ht_scalar(-0.0)), HT_FLOAT64);
    assert_int_equal(ht_tensor_dtype(ht_scalar(0.0)), HT_INT64);
    ht_test_expect(ht_copysign(x, ht_scalar(-0.0)), minus, 0);
    ht_test_expect(ht_copysign(x, ht_scalar(0.0)), plus, 0);
    ht_test_expect(ht_copysign(x, ht_mul(ht_scalar(-0.0), x)), minus, 0);
}

static void numbers_as_left_right_and_third_operands(void **state)
{
    ht_tensor *x = ht_arange(0, 5, 1, HT_FLOAT32, 0), *mask = ht_gt(x, ht_scalar(2)), *y;

    (void)state;
    ht_test_expect(ht_sub(ht_scalar(1), x), (double[]){1, 0, -1, -2, -3}, 0);
    ht_test_expect(ht_sub(x, ht_scalar(1)), (double[]){-1, 0, 1, 2, 3}, 0);
    ht_test_expect(ht_pow(ht_scalar(2), x), (double[]){1, 2, 4, 8, 16}, 0);
    ht_test_expect(ht_pow(x, ht_scalar(2)), (double[]){0, 1, 4, 9, 16}, 0);
    y = ht_where(mask, ht_scalar(-1), x);
    assert_int_equal(ht_tensor_dtype(y), HT_FLOAT32);
    assert_int_equal(ht_tensor_split(y), 0);
    ht_test_expect(y, (double[]){0, 1, 2, -1, -1}, 0);
    y = ht_where(mask, ht_scalar(1), ht_scalar(0));
    assert_int_equal(ht_tensor_dtype(y), HT_INT64);
    ht_test_expect(y, (double[]){0, 0, 0, 1, 1}, 0);
    assert_int_equal(ht_tensor_dtype(ht_where(mask, ht_scalar(1), ht_scalar(0.5))), HT_FLOAT64);
    ht_test_expect_same(ht_where(ht_scalar(0), ht_neg(x), x), x, 0);
    ht_test_expect_same(ht_where(ht_scalar(0.5), x, ht_neg(x)), x, 0);
    ht_test_expect_same(ht_where(ht_scalar(300), x, ht_neg(x)), x, 0);
    assert_true(ht_item(ht_where(ht_scalar(1), ht_scalar(2), ht_scalar(3))) == 2);
}

/* alpha times a number is computed in a's dtype, like that of two tensors. */
static void multiples_are_added_in_place(void **state)
{
    ht_tensor *x = ht_arange(0, 3, 1, HT_FLOAT32, 0), *n = integers(odd, HT_INT64);

    (void)state;
    assert_int_equal(ht_add_(x, ht_scalar(0.5), 1), HT_SUCCESS);
    ht_test_expect(x, (double[]){0.5, 1.5, 2.5}, 0);
    assert_int_equal(ht_add_(x, ht_scalar(2), -3), HT_SUCCESS);
    ht_test_expect(x, (double[]){-5.5, -4.5, -3.5}, 0);
    assert_int_equal(ht_add_ext_(n, ht_scalar_ext(HT_NUM(odd)), HT_NUM(2)), HT_SUCCESS);
    assert_true(all_are(n, 3 * odd));
    HT_TEST_EXPECT_ERROR(ht_add_(n, ht_scalar(0.5), 2), HT_ERR_DTYPE, "ht_add_: ");
    HT_TEST_EXPECT_ERROR(ht_add_(integers(1, HT_UINT8), ht_scalar(300), 2), HT_ERR_ARGUMENT,
                         "ht_add_: ");
}

static ht_tensor *rational(ht_tensor *in[], void *user)
{
    ht_tensor *x = in[0];

    (void)user;
    return ht_add(ht_div(ht_scalar(1), x),
                  ht_sub(ht_pow(x, ht_scalar(3)), ht_mul(ht_scalar(2), x)));
}

static ht_tensor *transcendental(ht_tensor *in[], void *user)
{
    ht_tensor *x = in[0];

    (void)user;
    return ht_mul(ht_add(ht_pow(ht_scalar(2), x), ht_hypot(x, ht_scalar(1.5))),
                  ht_sub(ht_atan2(ht_scalar(1), x), ht_logaddexp(x, ht_scalar(0.5))));
}

static ht_tensor *chosen(ht_tensor *in[], void *user)
{
    ht_tensor *x = in[0], *mask = ht_gt(x, ht_scalar(1));

    (void)user;
    return ht_add(ht_where(mask, ht_square(x), ht_scalar(-1)), ht_where(mask, ht_scalar(2), x));
}

static ht_tensor *turned(ht_tensor *in[], void *user)
{
    ht_tensor *z = ht_mul(in[0], ht_scalar_ext(HT_COMPLEX(0.5, 2)));

    (void)user;
    return ht_real(ht_mul(z, z));
}

static void gradients_pass_by_numbers(void **state)
{
    static ht_gradcheck_fn *const functions[] = {rational, transcendental, chosen, turned};

    (void)state;
    for (int job = 0; job < 8; job++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = ht_array((double[]){0.5, 0.75, 1.25, 1.5, 2}, HT_SHAPE(5), HT_FLOAT64,
                                job % 2 == 0 ? HT_NONE : 0);

        ht_tensor_set_requires_grad(x, true);
        ht_test_gradcheck(functions[job / 2], 1, &x, NULL, 1e-7);
        ht_scope_close(scope);
    }
}

/* A tensor that every rank has for itself, and a number that is another one on each. */
static void numbers_combine_with_process_local_tensors(void **state)
{
    const float own[2] = {1, (float)ht_test_rank};
    ht_tensor *local = ht_array(own, HT_SHAPE(2), HT_FLOAT32, HT_LOCAL);
    ht_tensor *y = ht_mul(ht_scalar(ht_test_rank), ht_add(local, ht_scalar(1)));
    const float *found = ht_tensor_data(ht_to_device(y, ht_device_get("cpu")));

    (void)state;
    assert_ptr_equal(ht_tensor_comm(y), HT_COMM_SELF);
    assert_true(found[0] == (float)(2 * ht_test_rank));
    assert_true(found[1] == (float)(ht_test_rank * (ht_test_rank + 1)));
    y = ht_add(ht_scalar(1), ht_ones(HT_SHAPE(5), HT_FLOAT32, 0));
    assert_ptr_equal(ht_tensor_comm(y), ht_get_comm());
    assert_ptr_equal(ht_tensor_device(y), ht_get_device());
}

static void numbers_are_tensors_elsewhere(void **state)
{
    const ht_number z = ht_item_ext(ht_scalar_ext(HT_COMPLEX(1, -2)));
    ht_tensor *x = ht_scalar(2.5);

    (void)state;
    assert_int_equal(ht_tensor_ndim(x), 0);
    assert_int_equal(ht_tensor_split(x), HT_NONE);
    assert_int_equal(ht_tensor_dtype(x), HT_FLOAT64);
    assert_ptr_equal(ht_tensor_comm(x), HT_COMM_SELF);
    assert_true(*(const double *)ht_tensor_data(x) == 2.5);
    assert_true(ht_item(x) == 2.5);
    assert_true(ht_item_ext(ht_scalar_ext(HT_NUM(odd))).integer == odd);
    assert_true(z.kind == HT_NUMBER_COMPLEX && z.real == 1 && z.imaginary == -2);
    assert_true(ht_item(ht_neg(x)) == -2.5);
    assert_true(ht_item(ht_sum(ht_square(x), HT_NONE)) == 6.25);
    assert_true(ht_item(ht_reshape(x, HT_SHAPE(1, 1))) == 2.5);
    assert_int_equal(ht_item(ht_astype(x, HT_INT32)), 2);
    assert_true(ht_item(ht_sum(ht_broadcast_to(x, HT_SHAPE(4)), 0)) == 10);
    assert_true(ht_item(ht_copy(x)) == 2.5);
    HT_TEST_EXPECT_ERROR(ht_scalar_ext((ht_number){.kind = (ht_number_kind)7}), HT_ERR_ARGUMENT,
                         "ht_scalar_ext: value is of kind 7, expected an ht_number_kind");
}

static void numbers_cannot_be_written(void **state)
{
    ht_tensor *number = ht_scalar(2.5), *one = ht_full(0, NULL, 1, HT_FLOAT64, HT_LOCAL);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_fill_(number, 1), HT_ERR_STATE,
                         "ht_fill_: x is a number (ht_scalar), expected a tensor that can be "
                         "written");
    HT_TEST_EXPECT_ERROR(ht_fill_(ht_reshape(number, HT_SHAPE(1)), 1), HT_ERR_STATE,
                         "ht_fill_: x is a number (ht_scalar)");
    HT_TEST_EXPECT_ERROR(ht_tensor_set_(one, number), HT_ERR_ARGUMENT,
                         "ht_tensor_set_: y is a number (ht_scalar), expected a tensor that can "
                         "be written");
    HT_TEST_EXPECT_ERROR(ht_allreduce(HT_COMM_SELF, one, number, HT_OP_SUM), HT_ERR_ARGUMENT,
                         "ht_allreduce: the result is a number (ht_scalar), expected a tensor that "
                         "can be written");
    HT_TEST_EXPECT_ERROR(ht_copy_(number, ht_neg(number)), HT_ERR_STATE, "ht_copy_: x is a number");
    HT_TEST_EXPECT_ERROR(ht_add_(number, one, 1), HT_ERR_STATE, "ht_add_: a is a number");
    HT_TEST_EXPECT_ERROR(ht_exp_(number), HT_ERR_STATE, "ht_exp_: x is a number");
    HT_TEST_EXPECT_ERROR(ht_mul_scalar_(number, 2), HT_ERR_STATE, "ht_mul_scalar_: a is a number");
    HT_TEST_EXPECT_ERROR(ht_pow_(number, one), HT_ERR_STATE, "ht_pow_: a is a number");
    HT_TEST_EXPECT_ERROR(ht_fill_(ht_detach(number), 1), HT_ERR_STATE, "ht_fill_: x is a");
    HT_TEST_EXPECT_ERROR(ht_tensor_set_requires_grad(number, true), HT_ERR_ARGUMENT,
                         "ht_tensor_set_requires_grad: x is a number (ht_scalar)");
    assert_int_equal(ht_tensor_set_requires_grad(number, false), HT_SUCCESS);
    assert_true(ht_item(number) == 2.5);
    assert_true(ht_item(ht_add(one, number)) == 3.5);
}

static void a_number_in_place_leaves_nothing(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(4), HT_FLOAT32, 0);
    const int64_t before = ht_live_objects(NULL);

    (void)state;
    for (int i = 0; i < 10; i++)
        assert_int_equal(ht_mul_scalar_(x, 0.5), HT_SUCCESS);
    assert_int_equal(ht_live_objects(NULL), before);
}

HT_TEST_SUITE(test_scalar, cmocka_unit_test(numbers_raise_the_kind_and_not_the_size_of_a_dtype),
              cmocka_unit_test(numbers_do_not_promote_0d_tensors),
              cmocka_unit_test(integers_are_exact), cmocka_unit_test(out_of_range_is_an_error),
              cmocka_unit_test(out_of_range_is_an_error_of_no_elements),
              cmocka_unit_test(zero_keeps_its_sign),
              cmocka_unit_test(numbers_as_left_right_and_third_operands),
              cmocka_unit_test(multiples_are_added_in_place),
              cmocka_unit_test(gradients_pass_by_numbers),
              cmocka_unit_test(numbers_combine_with_process_local_tensors),
              cmocka_unit_test(numbers_are_tensors_elsewhere),
              cmocka_unit_test(numbers_cannot_be_written),
              cmocka_unit_test(a_number_in_place_leaves_nothing));
