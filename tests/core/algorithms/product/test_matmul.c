/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

#include <stdlib.h>

/* Shapes of the operands, and of the product; batches and matrices, vectors, and both. */
typedef struct form {
    int a_ndim, b_ndim, c_ndim;
    int64_t a[4], b[4], c[4];
} form;

static const form forms[] = {
    {2, 2, 2, {5, 7}, {7, 6}, {5, 6}},
    {1, 1, 0, {9}, {9}, {0}},
    {2, 1, 1, {5, 7}, {7}, {5}},
    {1, 2, 1, {7}, {7, 6}, {6}},
    {3, 1, 2, {3, 5, 4}, {4}, {3, 5}},
    {1, 3, 2, {4}, {3, 4, 5}, {3, 5}},
    {3, 3, 3, {5, 2, 3}, {5, 3, 4}, {5, 2, 4}},
    {3, 2, 3, {3, 5, 4}, {4, 6}, {3, 5, 6}},
    {2, 3, 3, {5, 4}, {3, 4, 6}, {3, 5, 6}},
    {3, 3, 3, {1, 5, 4}, {3, 4, 2}, {3, 5, 2}},
    {3, 3, 3, {3, 5, 4}, {1, 4, 2}, {3, 5, 2}},
    {4, 3, 4, {2, 1, 3, 4}, {5, 4, 2}, {2, 5, 3, 2}},
    {4, 4, 4, {2, 3, 2, 4}, {2, 3, 4, 1}, {2, 3, 2, 1}},
    {3, 3, 3, {3, 5, 0}, {3, 0, 2}, {3, 5, 2}},
    {3, 2, 3, {0, 5, 2}, {2, 3}, {0, 5, 3}},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static int split_of(int i)
{
    return i < 0 ? HT_NONE : i;
}

/* Element `at` of the product, from values of unsplit operands. */
static double one(const form *f, const double *a, const double *b, int64_t at)
{
    const int64_t k = f->a[f->a_ndim - 1], n = f->b_ndim > 1 ? f->b[f->b_ndim - 1] : 1;
    const int64_t m = f->a_ndim > 1 ? f->a[f->a_ndim - 2] : 1;
    const int64_t row = at / n % m, column = at % n;
    int64_t left = 0, right = 0, a_step = m * k, b_step = k * n, sum_at = at / n / m;
    double sum = 0;

    for (int i = 3; i <= f->a_ndim || i <= f->b_ndim; i++) {
        const int64_t la = i <= f->a_ndim ? f->a[f->a_ndim - i] : 1;
        const int64_t lb = i <= f->b_ndim ? f->b[f->b_ndim - i] : 1;
        const int64_t length = la == 1 ? lb : la;

        left += (la == 1 ? 0 : sum_at % length) * a_step;
        right += (lb == 1 ? 0 : sum_at % length) * b_step;
        a_step *= la;
        b_step *= lb;
        sum_at /= length;
    }
    for (int64_t l = 0; l < k; l++)
        sum += a[left + row * k + l] * b[right + l * n + column];
    return sum;
}

static void expect_product(const form *f, const double *a, const double *b, ht_tensor *c)
{
    static double expected[200];
    int64_t size = 1;

    assert_int_equal(ht_tensor_ndim(c), f->c_ndim);
    for (int i = 0; i < f->c_ndim; i++) {
        assert_int_equal(ht_tensor_shape(c)[i], f->c[i]);
        size *= f->c[i];
    }
    assert_true(size <= 200);
    for (int64_t i = 0; i < size; i++)
        expected[i] = one(f, a, b, i);
    ht_test_expect(c, expected, 1e-13);
}

/* The rule of include/ht/linalg.h. */
static int promised(const form *f, int sa, int sb)
{
    const int ndim = f->a_ndim > f->b_ndim ? f->a_ndim : f->b_ndim;
    int a = sa < 0 ? -1 : sa + ndim - f->a_ndim, b = sb < 0 ? -1 : sb + ndim - f->b_ndim;

    if (f->c_ndim == 0 || (sa < 0 && sb < 0))
        return -1;
    if (f->a_ndim == 1 || f->b_ndim == 1)
        return f->a_ndim == 1 ? (sb >= 0 && sb < f->b_ndim - 2 ? sb : f->c_ndim - 1)
                              : (sa >= 0 && sa < f->a_ndim - 2 ? sa : f->c_ndim - 1);
    if (a >= 0 && a < ndim - 2 && f->a[sa] != f->c[a])
        a = ndim - 2;
    if (b >= 0 && b < ndim - 2 && f->b[sb] != f->c[b])
        b = ndim - 1;
    if (a >= 0 && a < ndim - 2)
        return a;
    if (b >= 0 && b < ndim - 2)
        return b;
    return b == ndim - 1 && a != ndim - 2 ? ndim - 1 : ndim - 2;
}

static void every_form_and_pair_of_splits(void **state)
{
    (void)state;
    for (int i = 0; i < FORMS; i++) {
        const form *f = &forms[i];
        ht_scope *scope = ht_scope_open();
        ht_tensor *a = ht_test_randn(f->a_ndim, f->a, HT_FLOAT64, HT_NONE, 7);
        ht_tensor *b = ht_test_randn(f->b_ndim, f->b, HT_FLOAT64, HT_NONE, 8);
        const double *x = ht_test_values(a), *y = ht_test_values(b);

        for (int sa = -1; sa < f->a_ndim; sa++) {
            for (int sb = -1; sb < f->b_ndim; sb++) {
                ht_scope *inner = ht_scope_open();
                ht_tensor *c = ht_matmul(ht_resplit(a, split_of(sa)), ht_resplit(b, split_of(sb)));

                expect_product(f, x, y, c);
                assert_int_equal(ht_tensor_split(c), split_of(promised(f, sa, sb)));
                ht_scope_close(inner);
            }
        }
        ht_scope_close(scope);
    }
}

/* x in the memory of its transpose, and with slabs of other lengths. */
static ht_tensor *awkward(ht_tensor *x, int split)
{
    const int last = ht_tensor_ndim(x) - 1;
    ht_tensor *longer[2], *y;
    int64_t length;

    if (last > 0)
        x = ht_transpose(ht_copy(ht_transpose(x, last, last - 1)), last, last - 1);
    if (split < 0 || ht_tensor_shape(x)[split] == 0)
        return x;
    length = ht_tensor_shape(x)[split];
    longer[0] = ht_narrow(x, split, 0, 1);
    longer[1] = x;
    y = ht_resplit(ht_concatenate(2, longer, split), split);
    return ht_narrow(y, split, 1, length + 1);
}

static void transposed_and_uneven_operands(void **state)
{
    (void)state;
    for (int i = 0; i < FORMS; i++) {
        const form *f = &forms[i];
        ht_scope *scope = ht_scope_open();
        ht_tensor *a = ht_test_randn(f->a_ndim, f->a, HT_FLOAT64, HT_NONE, 9);
        ht_tensor *b = ht_test_randn(f->b_ndim, f->b, HT_FLOAT64, HT_NONE, 10);
        const double *x = ht_test_values(a), *y = ht_test_values(b);

        for (int sa = -1; sa < f->a_ndim; sa++) {
            for (int sb = -1; sb < f->b_ndim; sb++) {
                ht_scope *inner = ht_scope_open();

                expect_product(f, x, y, ht_matmul(awkward(a, sa), awkward(b, sb)));
                ht_scope_close(inner);
            }
        }
        ht_scope_close(scope);
    }
}

static ht_tensor *product(ht_tensor *inputs[], void *user)
{
    (void)user;
    return ht_matmul(inputs[0], inputs[1]);
}

static void gradients_of_every_form(void **state)
{
    (void)state;
    for (int i = 0; i < FORMS; i++) {
        const form *f = &forms[i];

        for (int sa = -1; sa < f->a_ndim; sa += 2) {
            const int sb = (i + sa + 2) % (f->b_ndim + 1) - 1;
            ht_scope *scope = ht_scope_open();
            ht_tensor *in[2] = {ht_test_randn(f->a_ndim, f->a, HT_FLOAT64, split_of(sa), 11),
                                ht_test_randn(f->b_ndim, f->b, HT_FLOAT64, split_of(sb), 12)};

            ht_tensor_set_requires_grad(in[0], true);
            ht_tensor_set_requires_grad(in[1], true);
            ht_test_gradcheck(product, 2, in, NULL, 1e-7);
            ht_scope_close(scope);
        }
    }
}

/* Conjugates in the gradient of a real number: |a b|^2 has 2 a^H (a b). */
static void gradients_of_complex_operands(void **state)
{
    ht_tensor *a = ht_astype(ht_test_randn(HT_SHAPE(3, 4), HT_FLOAT64, 1, 1), HT_COMPLEX128);
    ht_tensor *b = ht_astype(ht_test_randn(HT_SHAPE(4, 2), HT_FLOAT64, 0, 2), HT_COMPLEX128), *c;
    ht_number i = ht_number_complex(0.5, 2);

    (void)state;
    a = ht_mul_scalar_ext(a, i);
    ht_tensor_set_requires_grad(b, true);
    c = ht_matmul(a, b);
    assert_int_equal(ht_backward(ht_sum(ht_square(ht_abs(c)), HT_NONE)), HT_SUCCESS);
    c = ht_matmul(ht_transpose(ht_conj(a), 0, 1), ht_detach(c));
    ht_test_expect_same(ht_real(ht_tensor_grad(b)), ht_mul_scalar(ht_real(c), 2), 1e-12);
    ht_test_expect_same(ht_imag(ht_tensor_grad(b)), ht_mul_scalar(ht_imag(c), 2), 1e-12);
}

static void integers_and_bool_are_exact(void **state)
{
    const int64_t big[] = {INT64_MAX, 3, -7, 1LL << 62, 5};
    const int64_t other[] = {3, INT64_MAX, 11, 4, 1};
    ht_tensor *a = ht_array(big, HT_SHAPE(5), HT_INT64, 0);
    ht_tensor *b = ht_array(other, HT_SHAPE(5), HT_INT64, HT_NONE), *c = ht_matmul(a, b);
    ht_number value;
    uint64_t expected = 0;

    (void)state;
    for (int i = 0; i < 5; i++)
        expected += (uint64_t)big[i] * (uint64_t)other[i];
    assert_int_equal(ht_tensor_item_ext(c, &value), HT_SUCCESS);
    assert_true(value.integer == (int64_t)expected);
    a = ht_array((bool[]){1, 0, 1, 0, 0, 0}, HT_SHAPE(2, 3), HT_BOOL, 1);
    b = ht_array((bool[]){0, 1, 1, 1, 1, 0}, HT_SHAPE(3, 2), HT_BOOL, 0);
    c = ht_matmul(a, b);
    assert_int_equal(ht_tensor_dtype(c), HT_BOOL);
    ht_test_expect(c, (double[]){1, 1, 0, 0}, 0);
}

/* Slabs that come in several panels, along columns and along the inner axis. */
static void long_slabs_come_in_panels(void **state)
{
    const int64_t length = 1 << 22;
    ht_tensor *x = ht_arange(0, (double)length, 1, HT_FLOAT64, 0), *y;

    (void)state;
    y = ht_matmul(ht_ones(HT_SHAPE(2, 1), HT_FLOAT64, 0), ht_expand_dims(x, 0));
    assert_int_equal(ht_tensor_split(y), 0);
    ht_test_expect(ht_max(ht_abs(ht_sub(ht_narrow(y, 0, 1, 2), x)), HT_NONE), (double[]){0}, 0);
    y = ht_matmul(ht_ones(HT_SHAPE(2, length), HT_FLOAT64, 0), ht_expand_dims(x, 1));
    ht_test_expect(y, (double[]){8796090925056, 8796090925056}, 1e-14);
}

HT_TEST_SUITE(test_matmul, cmocka_unit_test(every_form_and_pair_of_splits),
              cmocka_unit_test(transposed_and_uneven_operands),
              cmocka_unit_test(gradients_of_every_form),
              cmocka_unit_test(gradients_of_complex_operands),
              cmocka_unit_test(integers_and_bool_are_exact),
              cmocka_unit_test(long_slabs_come_in_panels));
