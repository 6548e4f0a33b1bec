/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Losses give PyTorch's values and gradients; operands and parameters that do not fit are errors. */
#include "golden/golden_case.h"
#include "golden/torch_losses.h"
#include "nn/nn_test.h"
#include "tensor_check.h"

static ht_reduction_mode mode_of(const double p[])
{
    static const ht_reduction_mode modes[] = {HT_MEAN, HT_SUM, HT_NO_REDUCTION, HT_BATCH_MEAN};

    return modes[(int)p[0]];
}

/* The first number of a case is its reduction, the others are p[1] and so on. */
#define LOSS(name, call)                                             \
    static ht_tensor *call_##name(ht_tensor *in[], const double p[]) \
    {                                                                \
        const ht_reduction_mode mode = mode_of(p);                   \
                                                                     \
        return call;                                                 \
    }
LOSS(mse, ht_mse_loss(in[0], in[1], mode))
LOSS(l1, ht_l1_loss(in[0], in[1], mode))
LOSS(smooth_l1, ht_smooth_l1_loss(in[0], in[1], p[1], mode))
LOSS(huber, ht_huber_loss(in[0], in[1], p[1], mode))
LOSS(gaussian_nll, ht_gaussian_nll_loss(in[0], in[1], in[2], p[1] != 0, 0x1p-7, mode))
LOSS(kl_div, ht_kl_div(in[0], in[1], p[1] != 0, mode))
LOSS(bce, ht_binary_cross_entropy(in[0], in[1], in[2], mode))
LOSS(bce_logits, ht_binary_cross_entropy_with_logits(in[0], in[1], in[2], in[3], mode))
LOSS(soft_margin, ht_soft_margin_loss(in[0], in[1], mode))
LOSS(multilabel_soft_margin, ht_multilabel_soft_margin_loss(in[0], in[1], in[2], mode))
LOSS(hinge_embedding, ht_hinge_embedding_loss(in[0], in[1], p[1], mode))
LOSS(multi_margin, ht_multi_margin_loss(in[0], in[1], (int)p[1], p[2], in[2], mode))
LOSS(multilabel_margin, ht_multilabel_margin_loss(in[0], in[1], mode))
LOSS(margin_ranking, ht_margin_ranking_loss(in[0], in[1], in[2], p[1], mode))
LOSS(cosine_embedding, ht_cosine_embedding_loss(in[0], in[1], in[2], p[1], mode))

static ht_tensor *call_poisson_nll(ht_tensor *in[], const double p[])
{
    ht_poisson_nll_options options = ht_poisson_nll_options_default();

    options.log_input = p[1] != 0;
    options.full = p[2] != 0;
    options.reduction = mode_of(p);
    return ht_poisson_nll_loss(in[0], in[1], &options);
}

static ht_class_loss_options class_options(ht_tensor *in[], const double p[])
{
    ht_class_loss_options options = ht_class_loss_options_default();

    options.weight = in[2];
    options.ignore_index = (int64_t)p[1];
    options.label_smoothing = p[2];
    options.reduction = mode_of(p);
    return options;
}

static ht_tensor *call_nll(ht_tensor *in[], const double p[])
{
    const ht_class_loss_options options = class_options(in, p);

    return ht_nll_loss_ext(in[0], in[1], &options);
}

static ht_tensor *call_cross_entropy(ht_tensor *in[], const double p[])
{
    const ht_class_loss_options options = class_options(in, p);

    return ht_cross_entropy_ext(in[0], in[1], &options);
}

static ht_tensor *call_triplet(ht_tensor *in[], const double p[])
{
    ht_triplet_margin_options options = ht_triplet_margin_options_default();

    options.margin = p[1];
    options.p = p[2];
    options.swap = p[3] != 0;
    options.reduction = mode_of(p);
    return ht_triplet_margin_loss(in[0], in[1], in[2], &options);
}

static ht_tensor *city_blocks(ht_tensor *a, ht_tensor *b, void *user)
{
    (void)user;
    return ht_sum(ht_abs(ht_sub(a, b)), -1);
}

static ht_tensor *call_triplet_distance(ht_tensor *in[], const double p[])
{
    return ht_triplet_margin_with_distance_loss(in[0], in[1], in[2], city_blocks, NULL, p[1],
                                                p[2] != 0, mode_of(p));
}

#define ROW(name)                \
    {                            \
#name, call_##name, NULL \
    }
static const golden_function functions[] = {ROW(mse),
                                            ROW(l1),
                                            ROW(smooth_l1),
                                            ROW(huber),
                                            ROW(poisson_nll),
                                            ROW(gaussian_nll),
                                            ROW(kl_div),
                                            ROW(bce),
                                            ROW(bce_logits),
                                            ROW(soft_margin),
                                            ROW(multilabel_soft_margin),
                                            ROW(hinge_embedding),
                                            ROW(nll),
                                            ROW(cross_entropy),
                                            ROW(multi_margin),
                                            ROW(multilabel_margin),
                                            ROW(margin_ranking),
                                            ROW(cosine_embedding),
                                            ROW(triplet),
                                            ROW(triplet_distance),
                                            {.name = NULL}};

static void losses_are_those_of_pytorch(void **state)
{
    (void)state;
    golden_check(torch_losses, functions);
}

static ht_tensor *ones(int ndim, const int64_t shape[])
{
    return ht_ones(ndim, shape, HT_FLOAT32, HT_NONE);
}

/* The mean of no elements is 0, and so is the gradient of nothing. */
static void empty_batches(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(0, 3), HT_FLOAT32, 0);
    ht_tensor *classes = ht_zeros(HT_SHAPE(0), HT_INT64, 0);

    (void)state;
    ht_tensor_set_requires_grad(x, true);
    assert_true(ht_item(ht_kl_div(x, x, false, HT_MEAN)) == 0);
    assert_true(ht_item(ht_binary_cross_entropy(x, x, NULL, HT_MEAN)) == 0);
    assert_true(ht_item(ht_nll_loss_ext(x, classes, NULL)) == 0);
    assert_true(ht_item(ht_cross_entropy_ext(x, x, NULL)) == 0);
    assert_true(ht_item(ht_multi_margin_loss(x, classes, 1, 1, NULL, HT_MEAN)) == 0);
    assert_true(ht_item(ht_triplet_margin_loss(x, x, x, NULL)) == 0);
    assert_int_equal(ht_backward(ht_cross_entropy_ext(x, classes, NULL)), HT_SUCCESS);
}

/* One sample without a batch may have a target (1), which makes its loss (1). A scalar is one
 * class, and has no other class for a margin. */
static void margins_of_one_sample(void **state)
{
    ht_tensor *x = ht_array((double[]){0.25, 0, 0.5}, HT_SHAPE(3), HT_FLOAT64, HT_LOCAL);
    ht_tensor *class = ht_full(HT_SHAPE(1), 1, HT_INT64, HT_LOCAL), *loss;
    ht_tensor *first = ht_zeros(0, NULL, HT_INT64, HT_LOCAL),
              *one = ht_zeros(0, NULL, HT_FLOAT64, HT_LOCAL);

    (void)state;
    for (int axes = 0; axes < 2; axes++) {
        loss = ht_multi_margin_loss(x, axes == 1 ? class : ht_squeeze(class, 0), 1, 1, NULL,
                                    HT_NO_REDUCTION);
        assert_int_equal(ht_tensor_ndim(loss), axes);
        ht_test_expect(loss, (double[]){2.75 / 3}, 1e-15);
    }
    for (int i = 0; i < 2; i++) {
        loss = i == 0 ? ht_multi_margin_loss(one, first, 1, 1, NULL, HT_NO_REDUCTION)
                      : ht_multilabel_margin_loss(one, ht_expand_dims(first, 0), HT_NO_REDUCTION);
        assert_int_equal(ht_tensor_ndim(loss), 0);
        assert_true(ht_item(loss) == 0);
    }
    HT_TEST_EXPECT_ERROR(
        ht_multi_margin_loss(x, ht_zeros(HT_SHAPE(2), HT_INT64, HT_LOCAL), 1, 1, NULL, HT_MEAN),
        HT_ERR_SHAPE, "x is (3,), target is (2,), expected (N, C) and (N)");
}

static void shapes_that_do_not_fit_are_errors(void **state)
{
    ht_tensor *x = ones(HT_SHAPE(4, 3)), *row = ones(HT_SHAPE(3)), *two = ones(HT_SHAPE(2));
    ht_tensor *classes = ht_zeros(HT_SHAPE(4), HT_INT64, HT_NONE);
    ht_class_loss_options weighted = ht_class_loss_options_default();

    (void)state;
    weighted.weight = two;
    HT_TEST_EXPECT_ERROR(ht_kl_div(x, row, false, HT_MEAN), HT_ERR_SHAPE,
                         "ht_kl_div: x is (4, 3), target is (3,), expected the same shape");
    HT_TEST_EXPECT_ERROR(ht_gaussian_nll_loss(x, two, x, false, 1e-6, HT_MEAN), HT_ERR_SHAPE,
                         "ht_gaussian_nll_loss: x is (4, 3), target is (2,), expected a shape");
    HT_TEST_EXPECT_ERROR(ht_gaussian_nll_loss(x, x, two, false, 1e-6, HT_MEAN), HT_ERR_SHAPE,
                         "ht_gaussian_nll_loss: var is (2,), expected the shape of x (4, 3)");
    HT_TEST_EXPECT_ERROR(ht_binary_cross_entropy(x, x, two, HT_MEAN), HT_ERR_SHAPE,
                         "ht_binary_cross_entropy: ");
    HT_TEST_EXPECT_ERROR(ht_nll_loss_ext(x, ht_zeros(HT_SHAPE(4, 3), HT_INT64, HT_NONE), NULL),
                         HT_ERR_SHAPE, "log_probs is (4, 3), target is (4, 3)");
    HT_TEST_EXPECT_ERROR(ht_cross_entropy_ext(x, classes, &weighted), HT_ERR_SHAPE,
                         "ht_cross_entropy_ext: weight has 2 elements, expected 3");
    HT_TEST_EXPECT_ERROR(
        ht_cross_entropy_ext(x, row, NULL), HT_ERR_SHAPE,
        "ht_cross_entropy_ext: logits is (4, 3), target is (3,), expected the same "
        "shape");
    HT_TEST_EXPECT_ERROR(ht_multi_margin_loss(x, classes, 1, 1, two, HT_MEAN), HT_ERR_SHAPE,
                         "ht_multi_margin_loss: weight has 2 elements, expected 3");
    HT_TEST_EXPECT_ERROR(ht_margin_ranking_loss(x, x, row, 0, HT_MEAN), HT_ERR_SHAPE,
                         "x1 is (4, 3), target is (3,), expected the same number of axes");
    HT_TEST_EXPECT_ERROR(ht_cosine_embedding_loss(x, x, row, 0, HT_MEAN), HT_ERR_SHAPE,
                         "target is (3,), expected (N, D), (N, D) and (N)");
    HT_TEST_EXPECT_ERROR(ht_multilabel_soft_margin_loss(ones(0, NULL), ones(0, NULL), NULL, HT_SUM),
                         HT_ERR_SHAPE, "x is a scalar, expected (C) or (N, C)");
    HT_TEST_EXPECT_ERROR(ht_hinge_embedding_loss(x, row, 1, HT_MEAN), HT_ERR_SHAPE,
                         "the same shape");
    HT_TEST_EXPECT_ERROR(ht_soft_margin_loss(x, row, HT_MEAN), HT_ERR_SHAPE, "the same shape");
}

static ht_tensor *no_distance(ht_tensor *a, ht_tensor *b, void *user)
{
    (void)a;
    (void)b;
    (void)user;
    return NULL;
}

/* Messages name the loss, not an operation that it is made of. */
static void dtypes_that_do_not_fit_are_errors(void **state)
{
    ht_tensor *x = ones(HT_SHAPE(4, 3)), *complex = ht_astype(x, HT_COMPLEX64);
    ht_tensor *mask = ht_astype(x, HT_BOOL);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_binary_cross_entropy(x, complex, NULL, HT_MEAN), HT_ERR_DTYPE,
                         "ht_binary_cross_entropy: target is complex64, expected a real dtype");
    HT_TEST_EXPECT_ERROR(ht_soft_margin_loss(x, complex, HT_MEAN), HT_ERR_DTYPE,
                         "ht_soft_margin_loss: target is complex64, expected a real dtype");
    HT_TEST_EXPECT_ERROR(ht_kl_div(x, complex, false, HT_MEAN), HT_ERR_DTYPE,
                         "ht_kl_div: target is complex64, expected a real dtype");
    HT_TEST_EXPECT_ERROR(ht_gaussian_nll_loss(x, x, complex, false, 1, HT_MEAN), HT_ERR_DTYPE,
                         "ht_gaussian_nll_loss: var is complex64, expected a real dtype");
    HT_TEST_EXPECT_ERROR(ht_huber_loss(x, complex, 1, HT_MEAN), HT_ERR_DTYPE,
                         "ht_huber_loss: target is complex64, expected a real dtype");
    HT_TEST_EXPECT_ERROR(ht_margin_ranking_loss(x, x, complex, 0, HT_MEAN), HT_ERR_DTYPE,
                         "ht_margin_ranking_loss: target is complex64, expected a real dtype");
    HT_TEST_EXPECT_ERROR(ht_mse_loss(mask, mask, HT_MEAN), HT_ERR_DTYPE, "ht_mse_loss: ");
    HT_TEST_EXPECT_ERROR(
        ht_triplet_margin_with_distance_loss(x, x, x, no_distance, NULL, 1, true, HT_MEAN),
        HT_ERR_ARGUMENT, "ht_triplet_margin_with_distance_loss: the result of distance is NULL");
}

static void parameters_out_of_range_are_errors(void **state)
{
    ht_tensor *x = ones(HT_SHAPE(4, 3)), *below = ht_neg(x);
    ht_tensor *classes = ht_full(1, (int64_t[]){4}, 3, HT_INT64, HT_NONE);
    ht_class_loss_options smooth = ht_class_loss_options_default(), blank = {.size = 0};
    ht_triplet_margin_options triplet = ht_triplet_margin_options_default();

    (void)state;
    smooth.ignore_index = 0;
    HT_TEST_EXPECT_ERROR(
        ht_cross_entropy_ext(x, x, &smooth), HT_ERR_ARGUMENT,
        "ignore_index is 0, expected a number below 0 when target holds probabilities");
    smooth.label_smoothing = 1.5;
    triplet.margin = 0;
    HT_TEST_EXPECT_ERROR(ht_cross_entropy_ext(x, x, &smooth), HT_ERR_ARGUMENT,
                         "label_smoothing is 1.5, expected a number from 0 to 1");
    HT_TEST_EXPECT_ERROR(ht_nll_loss_ext(x, classes, &blank), HT_ERR_ARGUMENT,
                         "ht_class_loss_options_default");
    HT_TEST_EXPECT_ERROR(ht_gaussian_nll_loss(x, x, x, false, 0, HT_MEAN), HT_ERR_ARGUMENT,
                         "eps is 0, expected a value above 0");
    HT_TEST_EXPECT_ERROR(ht_gaussian_nll_loss(x, x, below, false, 1e-6, HT_MEAN), HT_ERR_ARGUMENT,
                         "ht_gaussian_nll_loss: an element of var is below 0");
    HT_TEST_EXPECT_ERROR(ht_multi_margin_loss(x, classes, 3, 1, NULL, HT_MEAN), HT_ERR_ARGUMENT,
                         "ht_multi_margin_loss: p is 3, expected 1 or 2");
    HT_TEST_EXPECT_ERROR(
        ht_multi_margin_loss(x, classes, 1, 1, NULL, HT_MEAN), HT_ERR_ARGUMENT,
        "ht_multi_margin_loss: target has an element out of range, expected one of 3 classes");
    HT_TEST_EXPECT_ERROR(ht_triplet_margin_loss(x, x, x, &triplet), HT_ERR_ARGUMENT,
                         "ht_triplet_margin_loss: margin is 0, expected a value above 0");
    HT_TEST_EXPECT_ERROR(
        ht_triplet_margin_with_distance_loss(x, x, x, NULL, NULL, 1, false, HT_MEAN),
        HT_ERR_ARGUMENT, "ht_triplet_margin_with_distance_loss: distance is NULL");
    HT_TEST_EXPECT_ERROR(ht_mse_loss(x, x, HT_BATCH_MEAN), HT_ERR_ARGUMENT,
                         "ht_mse_loss: reduction is 19");
}

HT_TEST_SUITE(test_golden_losses, cmocka_unit_test(losses_are_those_of_pytorch),
              cmocka_unit_test(empty_batches), cmocka_unit_test(margins_of_one_sample),
              cmocka_unit_test(shapes_that_do_not_fit_are_errors),
              cmocka_unit_test(dtypes_that_do_not_fit_are_errors),
              cmocka_unit_test(parameters_out_of_range_are_errors));
