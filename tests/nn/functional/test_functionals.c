/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Every functional of the table, with all its operands and the required ones alone: gradients by
 * finite differences, and the same values for any split, layout and dtype. */
#include <string.h>

#include "gradcheck.h"
#include "nn/functionals.h"
#include "nn/nn_test.h"
#include "tensor_check.h"

typedef struct test_case {
    const nn_functional *f;
    int given;       /* operands */
    unsigned splits; /* a bit for each operand that is split */
    ht_tensor *(*lay_out)(ht_tensor *x);
} test_case;

static ht_tensor *as_it_is(ht_tensor *x)
{
    return x;
}

static ht_tensor *strided(ht_tensor *x)
{
    return nn_every_second(nn_doubled(x));
}

static ht_tensor *images_channels_last(ht_tensor *x)
{
    return ht_tensor_ndim(x) == 4 ? ht_channels_last(x) : x;
}

static ht_tensor *call(ht_tensor *in[], void *user)
{
    const test_case *c = user;
    ht_tensor *laid_out[NN_OPERANDS] = {NULL};

    for (int i = 0; i < c->given; i++)
        laid_out[i] = c->lay_out(in[i]);
    if (c->f->in_place)
        laid_out[0] = ht_mul_scalar(laid_out[0], 1);
    return c->f->call(laid_out, c->f);
}

static void make(const test_case *c, ht_dtype dtype, ht_tensor *in[])
{
    for (int i = 0; i < c->given; i++)
        in[i] = nn_operand_of(c->f, i, dtype, c->splits >> i & 1 ? 0 : HT_NONE);
}

/* Calls `check` of each row, number of operands and choice of splits. */
static void for_each(void (*check)(test_case *c))
{
    for (const nn_functional *f = nn_functionals; f->name != NULL; f++) {
        for (int given = f->required;; given = f->count) {
            unsigned may_split = 0;

            for (int i = 0; i < given; i++)
                may_split |= f->operands[i].flags & NN_SPLITS ? 1u << i : 0;
            for (unsigned splits = 0; splits <= may_split; splits++) {
                ht_scope *scope = ht_scope_open();

                if ((splits & ~may_split) == 0)
                    check(&(test_case){f, given, splits, as_it_is});
                ht_scope_close(scope);
            }
            if (given == f->count)
                break;
        }
    }
}

/* One rank checks unsplit operands: the next test compares split ones with these. Several ranks, whose
 * many calls take longer, check the case with most splits. */
static void check_gradients(test_case *c)
{
    ht_tensor *in[NN_OPERANDS] = {NULL};
    unsigned wanted = 0;

    for (int i = 0; i < c->given && ht_test_size > 1; i++)
        wanted |= c->f->operands[i].flags & NN_SPLITS ? 1u << i : 0;
    if (c->splits != wanted)
        return;

    make(c, HT_FLOAT64, in);
    ht_test_gradcheck(call, c->given, in, c, 1e-7);
    c->lay_out = images_channels_last;
    if (c->f->operands[0].ndim == 4)
        ht_test_gradcheck(call, c->given, in, c, 1e-7);
}

static void gradients_are_those_of_finite_differences(void **state)
{
    (void)state;
    for_each(check_gradients);
}

/* The result, and the gradients of its sum of squares. */
static ht_tensor *run(test_case *c, ht_dtype dtype, ht_tensor *grads[])
{
    ht_tensor *in[NN_OPERANDS] = {NULL}, *y;

    make(c, dtype, in);
    y = call(in, c);
    if (y == NULL)
        fail_msg("%s gives nothing", c->f->name);
    assert_int_equal(ht_backward(ht_sum(ht_mul(y, y), HT_NONE)), HT_SUCCESS);
    for (int i = 0; i < c->given; i++)
        grads[i] = c->f->operands[i].flags & NN_GRAD ? ht_tensor_grad(in[i]) : NULL;
    return ht_detach(y);
}

static void expect_same(ht_tensor *a, ht_tensor *b, double tolerance)
{
    ht_test_expect_same(ht_astype(a, HT_FLOAT64), ht_astype(b, HT_FLOAT64), tolerance);
}

/* Compares with the same case without splits, with the same layout and in float64. */
static void check_same(test_case *c, ht_dtype dtype, double tolerance)
{
    test_case plain = {c->f, c->given, 0, as_it_is};
    ht_tensor *grads[2][NN_OPERANDS], *y = run(&plain, HT_FLOAT64, grads[0]);
    ht_tensor *other = run(c, dtype, grads[1]);

    assert_int_equal(ht_tensor_dtype(other), dtype);
    expect_same(other, y, tolerance);
    for (int i = 0; i < c->given; i++) {
        if (grads[0][i] == NULL)
            continue;
        assert_int_equal(ht_tensor_dtype(grads[1][i]), dtype);
        expect_same(grads[1][i], grads[0][i], 4 * tolerance);
    }
}

static void check_split(test_case *c)
{
    check_same(c, HT_FLOAT64, 1e-14);
}

static void splits_do_not_change_values(void **state)
{
    (void)state;
    for_each(check_split);
}

static void check_strided(test_case *c)
{
    c->lay_out = strided;
    check_same(c, HT_FLOAT64, 1e-14);
}

static void strides_do_not_change_values(void **state)
{
    (void)state;
    for_each(check_strided);
}

static void check_dtypes(test_case *c)
{
    check_same(c, HT_FLOAT32, 4e-6);
    check_same(c, HT_FLOAT16, 2e-2);
    check_same(c, HT_BFLOAT16, 1e-1);
}

static void floating_dtypes_give_the_same_values(void **state)
{
    (void)state;
    for_each(check_dtypes);
}

static void losses_refuse_parameters_out_of_range(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(2), HT_FLOAT32, HT_NONE);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_huber_loss(x, x, 0, HT_MEAN), HT_ERR_ARGUMENT,
                         "ht_huber_loss: delta is 0, expected a finite value above 0");
    HT_TEST_EXPECT_ERROR(ht_smooth_l1_loss(x, x, -1, HT_MEAN), HT_ERR_ARGUMENT,
                         "ht_smooth_l1_loss: beta is -1, expected a finite value of at least 0");
    HT_TEST_EXPECT_ERROR(ht_l1_loss(x, x, (ht_reduction_mode)0), HT_ERR_ARGUMENT,
                         "ht_l1_loss: reduction is 0, expected HT_MEAN");
}

/* The losses of the table, of differences 2, -0.5, 1 and 0, and the slopes, with its parameters. */
static const struct {
    const char *name;
    double number, losses[4], slopes[4];
} formulas[] = {{"ht_l1_loss", 0, {2, 0.5, 1, 0}, {1, -1, 1, 0}},
                {"ht_smooth_l1_loss", 0, {2, 0.5, 1, 0}, {1, -1, 1, 0}},
                {"ht_smooth_l1_loss", 0.3, {1.85, 0.35, 0.85, 0}, {1, -1, 1, 0}},
                {"ht_huber_loss", 0.4, {0.72, 0.12, 0.32, 0}, {0.4, -0.4, 0.4, 0}}};

static void check_formula(const nn_functional *f, const double losses[4], const double slopes[4])
{
    ht_tensor *in[] = {ht_array((double[]){3, 0.5, 2, -1}, HT_SHAPE(4), HT_FLOAT64, 0),
                       ht_array((double[]){1, 1, 1, -1}, HT_SHAPE(4), HT_FLOAT64, HT_NONE)};
    const double share = f->mode == HT_MEAN ? 0.25 : 1;
    double sum = 0, expected[4];
    ht_tensor *y;

    for (int i = 0; i < 4; i++) {
        sum += share * losses[i];
        expected[i] = share * slopes[i];
    }
    ht_tensor_set_requires_grad(in[0], true);
    y = f->call(in, f);
    ht_test_expect(y, f->mode == HT_NO_REDUCTION ? losses : &sum, 1e-15);
    assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(in[0]), expected, 1e-15);
}

static void losses_are_those_of_the_formulas(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++) {
        int checked = 0;

        for (const nn_functional *f = nn_functionals; f->name != NULL; f++) {
            if (strcmp(formulas[i].name, f->name) != 0 || formulas[i].number != f->number)
                continue;
            check_formula(f, formulas[i].losses, formulas[i].slopes);
            checked++;
        }
        assert_int_not_equal(checked, 0);
    }
}

HT_TEST_SUITE(test_functionals, cmocka_unit_test(gradients_are_those_of_finite_differences),
              cmocka_unit_test(splits_do_not_change_values),
              cmocka_unit_test(strides_do_not_change_values),
              cmocka_unit_test(floating_dtypes_give_the_same_values),
              cmocka_unit_test(losses_refuse_parameters_out_of_range),
              cmocka_unit_test(losses_are_those_of_the_formulas));
