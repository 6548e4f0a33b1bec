/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Functionals at the limits of their formulas and dtypes: kinks, zeros under roots, infinite
 * elements, unsigned targets, and numbers that 16 bits do not hold. Values are PyTorch's. */
#include "nn/nn_test.h"
#include "tensor_check.h"

enum { MOST = 9 };

/* A call on x, with its result and the gradient of the sum of that. */
typedef struct limit {
    const char *name;
    ht_tensor *(*call)(ht_tensor *x);
    ht_dtype dtype;
    int ndim;
    int64_t shape[4];
    double x[MOST], y[MOST], dx[MOST];
    double tolerance;
} limit;

static ht_tensor *local(int count, const double values[], ht_dtype dtype)
{
    return ht_astype(ht_array(values, HT_SHAPE(count), HT_FLOAT64, HT_LOCAL), dtype);
}

/* clang-format off */
#define V(...) HT_LIST(double, __VA_ARGS__)
#define CALL(f, call) static ht_tensor *f(ht_tensor *x) { return call; }
/* clang-format on */
CALL(bce_uint8, ht_binary_cross_entropy(x, local(V(0, 1, 0), HT_UINT8), NULL, HT_NO_REDUCTION))
CALL(bce_bool, ht_binary_cross_entropy(x, local(V(0, 1, 0), HT_BOOL), NULL, HT_NO_REDUCTION))
CALL(bce_weighted, ht_binary_cross_entropy_with_logits(x, local(V(1, 0), HT_UINT8), NULL,
                                                       local(V(0), HT_UINT8), HT_NO_REDUCTION))
CALL(bce_certain, ht_binary_cross_entropy(x, local(V(0, 1, 1), HT_FLOAT16), NULL, HT_NO_REDUCTION))
CALL(hinge_uint8, ht_hinge_embedding_loss(x, local(V(0, 1), HT_UINT8), 1, HT_NO_REDUCTION))
CALL(hinge_kink, ht_hinge_embedding_loss(x, local(V(-1, -1), HT_INT32), 1, HT_NO_REDUCTION))
CALL(cosine_uint8,
     ht_cosine_embedding_loss(x, ht_ones(HT_SHAPE(1, 2), HT_FLOAT64, HT_LOCAL),
                              ht_ones(HT_SHAPE(1), HT_UINT8, HT_LOCAL), 0, HT_NO_REDUCTION))
CALL(cosine_kink, ht_cosine_embedding_loss(x, local(V(0, 1), HT_FLOAT64),
                                           ht_full(0, NULL, -1, HT_FLOAT64, HT_LOCAL), 0, HT_SUM))
CALL(ranking_kink, ht_margin_ranking_loss(x, ht_zeros_like(x), ht_ones_like(x), 0, HT_NO_REDUCTION))
CALL(multi_kink,
     ht_multi_margin_loss(x, ht_zeros(HT_SHAPE(1), HT_INT64, HT_LOCAL), 1, 1, NULL, HT_SUM))
CALL(multilabel_kink,
     ht_multilabel_margin_loss(x, ht_reshape(local(V(0, -1, 0), HT_INT64), HT_SHAPE(1, 3)), HT_SUM))
CALL(gelu, ht_gelu_tanh(x))
CALL(cosine_wide,
     ht_cosine_embedding_loss(x, x, ht_ones(HT_SHAPE(1), HT_INT64, HT_LOCAL), 0, HT_NO_REDUCTION))
CALL(similarity_zero, ht_cosine_similarity(x, local(V(300, 300), HT_FLOAT16), 0, 1e-8))
CALL(similarity_wide, ht_cosine_similarity(x, local(V(300, 300), HT_FLOAT16), 0, 1e-8))
CALL(response_wide, ht_local_response_norm(x, 2, 1e-4, 0.75, 1))
CALL(gaussian_wide, ht_gaussian_nll_loss(x, local(V(0), HT_FLOAT16), local(V(1000), HT_FLOAT16),
                                         false, 1e-6, HT_NO_REDUCTION))
CALL(multi_wide, ht_multi_margin_loss(x, ht_zeros(HT_SHAPE(1), HT_INT64, HT_LOCAL), 2, 0, NULL,
                                      HT_NO_REDUCTION))
CALL(adaptive_2, ht_adaptive_avg_pool(x, (const int64_t[]){2}))
CALL(adaptive_3, ht_adaptive_avg_pool(x, (const int64_t[]){3}))

static ht_tensor *poisson(ht_tensor *x)
{
    ht_poisson_nll_options options = ht_poisson_nll_options_default();

    options.log_input = false;
    options.reduction = HT_NO_REDUCTION;
    return ht_poisson_nll_loss(x, local(V(1), HT_FLOAT16), &options);
}
CALL(poisson_zero, poisson(x))

static ht_tensor *triplet(ht_tensor *x, double p, double positive, double negative)
{
    ht_triplet_margin_options options = ht_triplet_margin_options_default();

    options.p = p;
    options.eps = 0;
    return ht_triplet_margin_loss(x, local(V(positive, 2), HT_FLOAT64),
                                  local(V(negative, 2), HT_FLOAT64), &options);
}
CALL(triplet_equal, triplet(x, 2, 1, 1.5))
CALL(triplet_kink, triplet(x, 1, 2, 3))

static ht_tensor *pooled(ht_tensor *x, ht_tensor *(*pool)(ht_tensor *, const ht_pool_options *),
                         int64_t kernel, int64_t stride, bool ceil_mode)
{
    ht_pool_options options = ht_pool_options_default();

    options.kernel[0] = kernel;
    options.stride[0] = stride;
    options.ceil_mode = ceil_mode;
    return pool != NULL ? pool(x, &options) : ht_lp_pool(x, 2, &options);
}
CALL(lp_zeros, pooled(x, NULL, 2, 0, false))
CALL(lp_ceil, pooled(x, NULL, 2, 0, true))
CALL(average_wide, pooled(x, ht_avg_pool, 4, 2, true))
CALL(average_ceil, pooled(x, ht_avg_pool, 3, 2, true))
CALL(maximum_wide, pooled(x, ht_max_pool, 4, 2, true))

static ht_tensor *upsampled(ht_tensor *x, ht_upsample_mode mode, int64_t length, double scale)
{
    ht_upsample_options options = ht_upsample_options_default();

    options.mode = mode;
    options.length[0] = length;
    options.scale[0] = scale;
    return ht_upsample(x, &options);
}
CALL(nearest_600, ht_sum(upsampled(x, HT_UPSAMPLE_NEAREST, 600, 0), HT_NONE))
CALL(linear_same, upsampled(x, HT_UPSAMPLE_LINEAR, 0, 1.3))

#define INF INFINITY
#define ROW(name, dtype, ...)           \
    {                                   \
#name, name, dtype, __VA_ARGS__ \
    }
/* clang-format off */
static const limit limits[] = {
    ROW(bce_uint8, HT_FLOAT64, 1, {3}, {.2, .5, .9}, {.22314355131421, .693147180559945, 2.302585092994046},
        {1.25, -2, 10}, 1e-13),
    ROW(bce_bool, HT_FLOAT32, 1, {3}, {.2, .5, .9}, {.22314355, .69314718, 2.3025851}, {1.25, -2, 10}, 1e-5),
    ROW(bce_weighted, HT_FLOAT64, 1, {2}, {0, 0}, {0, .693147180559945}, {0, .5}, 1e-13),
    ROW(bce_certain, HT_FLOAT16, 1, {3}, {0, 1, .5}, {0, 0, .693359375}, {0, 0, -2}, 0),
    ROW(hinge_uint8, HT_FLOAT64, 1, {2}, {.25, .5}, {1, .5}, {0, 1}, 0),
    ROW(hinge_kink, HT_FLOAT64, 1, {2}, {1, .5}, {0, .5}, {0, -1}, 0),
    ROW(cosine_uint8, HT_FLOAT64, 2, {1, 2}, {3, 3}, {0}, {0, 0}, 1e-11),
    ROW(cosine_kink, HT_FLOAT64, 1, {2}, {1, 0}, {0}, {0, 0}, 0),
    ROW(ranking_kink, HT_FLOAT64, 1, {2}, {0, -1}, {0, 1}, {0, -1}, 0),
    ROW(multi_kink, HT_FLOAT64, 2, {1, 3}, {1, 0, 0}, {0}, {0, 0, 0}, 0),
    ROW(multilabel_kink, HT_FLOAT64, 2, {1, 3}, {1, 0, 0}, {0}, {0, 0, 0}, 0),
    ROW(triplet_equal, HT_FLOAT64, 1, {2}, {1, 2}, {.5}, {1, 0}, 0),
    ROW(triplet_kink, HT_FLOAT64, 1, {2}, {1, 2}, {0}, {0, 0}, 0),
    ROW(cosine_wide, HT_FLOAT16, 2, {1, 3}, {300, 300, 300}, {0}, {0, 0, 0}, 1e-6),
    ROW(similarity_zero, HT_FLOAT16, 1, {2}, {0, 0}, {0}, {INF, INF}, 0),
    ROW(similarity_wide, HT_FLOAT16, 1, {2}, {300, 0}, {.70703125}, {0, .00235748291015625}, 1e-6),
    ROW(response_wide, HT_FLOAT16, 3, {1, 2, 1}, {300, 300}, {83.5625, 53.34375},
        {-.183349609375, .05780029296875}, 2e-4),
    ROW(lp_zeros, HT_FLOAT16, 3, {1, 1, 4}, {300, 300, 3, 4}, {424.25, 5},
        {.70703125, .70703125, .60009765625, .7998046875}, 0),
    ROW(gaussian_wide, HT_FLOAT16, 1, {1}, {300}, {48.46875}, {.300048828125}, 0),
    ROW(poisson_zero, HT_FLOAT16, 1, {1}, {0}, {18.421875}, {-INF}, 0),
    ROW(multi_wide, HT_FLOAT16, 2, {1, 4}, {0, 300, 0, 0}, {22496}, {-150, 150, 0, 0}, 0),
    ROW(gelu, HT_FLOAT16, 1, {3}, {1, 300, -300}, {.84130859375, 300, 0}, {1.0830078125, 1, 0}, 0),
    ROW(lp_zeros, HT_FLOAT64, 3, {1, 1, 4}, {0, 0, 3, 4}, {0, 5}, {0, 0, .6, .8}, 1e-14),
    ROW(lp_ceil, HT_FLOAT64, 3, {1, 1, 3}, {3, 4, 2}, {5, 2 * 1.4142135623730951},
        {.6, .8, 1.4142135623730951}, 1e-14),
    ROW(average_wide, HT_FLOAT64, 3, {1, 1, 3}, {1, 2, 3}, {2}, {1.0 / 3, 1.0 / 3, 1.0 / 3}, 1e-15),
    ROW(average_ceil, HT_FLOAT64, 3, {1, 1, 4}, {1, 2, 3, 6}, {2, 4.5}, {1.0 / 3, 1.0 / 3, 5.0 / 6, .5}, 1e-15),
    ROW(maximum_wide, HT_FLOAT64, 3, {1, 1, 3}, {1, 3, 2}, {3}, {0, 1, 0}, 0),
    ROW(adaptive_2, HT_FLOAT64, 3, {1, 1, 4}, {1, INF, 3, 4}, {INF, 3.5}, {.5, .5, .5, .5}, 0),
    ROW(adaptive_3, HT_FLOAT64, 3, {1, 1, 5}, {1, 2, 3, 4, INF}, {1.5, 3, INF},
        {.5, 5.0 / 6, 1.0 / 3, 5.0 / 6, .5}, 1e-15),
    ROW(nearest_600, HT_BFLOAT16, 3, {1, 1, 1}, {1}, {600}, {600}, 0),
    ROW(linear_same, HT_FLOAT64, 3, {1, 1, 3}, {0, 10, 20}, {0, 10, 20}, {1, 1, 1}, 0),
};
/* clang-format on */

/* NaN is equal to nothing. */
static void expect(const limit *row, const char *what, ht_tensor *x, const double expected[])
{
    double got[MOST];
    const int64_t count = ht_tensor_size(x);

    assert_in_range(count, 1, MOST);
    assert_int_equal(ht_tensor_dtype(x), row->dtype);
    assert_int_equal(ht_tensor_to_array(x, got, count, HT_FLOAT64), HT_SUCCESS);
    for (int64_t i = 0; i < count; i++) {
        if (!(got[i] == expected[i] || fabs(got[i] - expected[i]) <= row->tolerance))
            fail_msg("%s, %s, element %d: %.17g, expected %.17g", row->name, what, (int)i, got[i],
                     expected[i]);
    }
}

static void values_and_gradients_at_limits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const limit *row = &limits[i];
        ht_tensor *x = ht_astype(ht_array(row->x, row->ndim, row->shape, HT_FLOAT64, HT_LOCAL),
                                 row->dtype);
        ht_tensor *y;

        ht_tensor_set_requires_grad(x, true);
        y = row->call(x);
        assert_non_null(y);
        expect(row, "value", y, row->y);
        assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
        expect(row, "gradient", ht_tensor_grad(x), row->dx);
    }
}

static ht_tensor *filled(int ndim, const int64_t shape[], double value, int split)
{
    return ht_full(ndim, shape, value, HT_FLOAT16, split);
}

/* The largest float16 is 65504. Results are PyTorch's of float32, rounded. */
static void counts_above_those_of_float16(void **state)
{
    enum { MANY = 70000 };
    ht_tensor *x = filled(HT_SHAPE(MANY, 1), -1, 0), *t = filled(HT_SHAPE(MANY, 1), 0.5, 0);

    (void)state;
    ht_test_expect(ht_kl_div(x, t, false, HT_BATCH_MEAN), (double[]){0.1533203125}, 0);
    x = filled(HT_SHAPE(1, MANY), 0, HT_LOCAL);
    t = ht_zeros(HT_SHAPE(1), HT_INT64, HT_LOCAL);
    ht_test_expect(ht_multi_margin_loss(x, t, 1, 1, NULL, HT_MEAN), (double[]){1}, 0);
}

/* 1 / 49 is not 1 / 49 in 16 bits. */
static void means_of_equal_elements_are_those(void **state)
{
    const double value = 15.9921875;
    ht_tensor *x = filled(HT_SHAPE(1, 1, 49), value, HT_LOCAL);

    (void)state;
    ht_test_expect(ht_adaptive_avg_pool(x, (int64_t[]){1}), &value, 0);
    ht_test_expect(ht_adaptive_avg_pool(x, (int64_t[]){2}), (double[]){value, value}, 0);
}

/* Linear modes do not change an axis that keeps its length: rows next to an infinite one stay
 * finite. */
static void an_axis_of_the_same_length_is_copied(void **state)
{
    const double values[] = {1, 2, 3, 4, INFINITY, 6, 7, 8, 9};
    ht_tensor *x = ht_array(values, HT_SHAPE(1, 1, 3, 3), HT_FLOAT64, HT_LOCAL), *y;
    ht_upsample_options options = ht_upsample_options_default();

    (void)state;
    options.mode = HT_UPSAMPLE_LINEAR;
    options.length[0] = 3;
    options.length[1] = 6;
    y = ht_narrow(ht_upsample(x, &options), 2, 0, 1);
    ht_test_expect(y, (double[]){1, 1.25, 1.75, 2.25, 2.75, 3}, 1e-15);
}

/* Two windows with padding 1 cover one element, and their usual length is 0. */
static void a_length_may_replace_a_usual_one_of_0(void **state)
{
    ht_pool_options options = ht_pool_options_default();
    ht_tensor *x = filled(HT_SHAPE(1, 1, 1), 3, HT_LOCAL);
    ht_tensor *places = ht_zeros(HT_SHAPE(1, 1, 1), HT_INT64, HT_LOCAL);

    (void)state;
    options.kernel[0] = 2;
    options.stride[0] = 3;
    options.padding[0] = 1;
    ht_test_expect(ht_max_unpool(x, places, &options, (int64_t[]){2}), (double[]){3, 0}, 0);
    HT_TEST_EXPECT_ERROR(ht_max_unpool(x, places, &options, NULL), HT_ERR_SHAPE,
                         "ht_max_unpool: x is (1, 1, 1): length 0 of axis 2");
}

HT_TEST_SUITE(test_limits, cmocka_unit_test(values_and_gradients_at_limits),
              cmocka_unit_test(counts_above_those_of_float16),
              cmocka_unit_test(means_of_equal_elements_are_those),
              cmocka_unit_test(an_axis_of_the_same_length_is_copied),
              cmocka_unit_test(a_length_may_replace_a_usual_one_of_0));
