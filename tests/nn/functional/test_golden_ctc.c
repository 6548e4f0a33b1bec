/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Connectionist temporal classification gives PyTorch's losses and gradients, unsplit and with the
 * batch split, and refuses lengths and targets out of range. */
#include <math.h>

#include "golden/ctc.h"
#include "nn/nn_test.h"
#include "tensor_check.h"

enum { T = 6, N = 4, C = 4, S = 3 };

static const int64_t targets_of[N][S] = {{1, 1, 3}, {3, 1, 3}, {1, 3, 3}, {3, 3, 1}};

/* Number k of the logits, as make_ctc.py has it. */
static double number_of(int64_t k)
{
    const double n = (double)(k + 1);

    return 0.5 * sin(12.9898 * n) + 0.4999 * sin(4.1414 * n * 2);
}

static ht_tensor *make_log_probs(ht_dtype dtype, int split)
{
    double data[T * N * C];
    ht_tensor *x;

    for (int64_t k = 0; k < T * N * C; k++)
        data[k] = 3 * number_of(k);
    x = ht_log_softmax(ht_array(data, HT_SHAPE(T, N, C), HT_FLOAT64, HT_NONE), 2);
    return ht_resplit(ht_astype(x, dtype), split);
}

static ht_tensor *make_targets(bool listed, const int64_t lengths[N], int split)
{
    int64_t data[N * S], count = 0;

    if (!listed)
        return ht_array(targets_of, HT_SHAPE(N, S), HT_INT64, split);
    for (int n = 0; n < N; n++) {
        for (int64_t i = 0; i < lengths[n]; i++)
            data[count++] = targets_of[n][i];
    }
    return ht_array(data, HT_SHAPE(count), HT_INT64, split);
}

static ht_tensor *make_lengths(const int64_t lengths[N], int split)
{
    return ht_astype(ht_array(lengths, HT_SHAPE(N), HT_INT64, split), HT_INT32);
}

static void check(const struct golden_ctc *g, bool split, ht_dtype dtype, double tolerance)
{
    static const ht_reduction_mode modes[] = {HT_MEAN, HT_SUM, HT_NO_REDUCTION};
    const int rows = split ? 0 : HT_NONE;
    ht_scope *scope = ht_scope_open();
    ht_ctc_options options = ht_ctc_options_default();
    ht_tensor *x = make_log_probs(dtype, split ? 1 : HT_NONE), *y;

    ht_tensor_set_requires_grad(x, true);
    options.blank = g->blank;
    options.zero_infinity = g->zero_infinity;
    options.reduction = modes[g->mode];
    y = ht_ctc_loss_ext(x, make_targets(g->listed, g->target_lengths, rows),
                        make_lengths(g->input_lengths, HT_NONE),
                        make_lengths(g->target_lengths, rows), &options);
    ht_test_expect(ht_astype(y, HT_FLOAT64), g->y, tolerance);
    assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
    ht_test_expect(ht_astype(ht_tensor_grad(x), HT_FLOAT64), g->dx, tolerance);
    ht_scope_close(scope);
}

static void losses_are_those_of_pytorch(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof golden_ctc / sizeof *golden_ctc; i++) {
        for (int split = 0; split < 2; split++) {
            check(&golden_ctc[i], split, HT_FLOAT64, 1e-13);
            check(&golden_ctc[i], split, HT_FLOAT32, 4e-6);
        }
    }
}

static void bad_operands_are_errors(void **state)
{
    static const int64_t steps[N] = {6, 6, 6, 6}, long_steps[N] = {6, 7, 6, 6};
    static const int64_t lengths[N] = {3, 3, 3, 3}, long_lengths[N] = {3, 4, 3, 3};
    ht_tensor *x = make_log_probs(HT_FLOAT64, HT_NONE), *in = make_lengths(steps, HT_NONE);
    ht_tensor *targets = make_targets(false, lengths, HT_NONE);
    ht_tensor *list = make_targets(true, lengths, HT_NONE), *out = make_lengths(lengths, HT_NONE);
    ht_ctc_options options = ht_ctc_options_default();

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_ctc_loss(x, targets, make_lengths(long_steps, HT_NONE), out, HT_MEAN),
                         HT_ERR_ARGUMENT, "ht_ctc_loss: input_lengths are 6 to 7, expected 0 to 6");
    HT_TEST_EXPECT_ERROR(ht_ctc_loss(x, targets, in, make_lengths(long_lengths, HT_NONE), HT_MEAN),
                         HT_ERR_ARGUMENT,
                         "ht_ctc_loss: target_lengths are 3 to 4, expected 0 to 3");
    HT_TEST_EXPECT_ERROR(ht_ctc_loss(x, list, in, make_lengths(long_lengths, HT_NONE), HT_MEAN),
                         HT_ERR_ARGUMENT, "ht_ctc_loss: target_lengths sum up to 13, expected 12");
    HT_TEST_EXPECT_ERROR(ht_ctc_loss(ht_narrow(x, 2, 0, 3), targets, in, out, HT_MEAN),
                         HT_ERR_ARGUMENT, "ht_ctc_loss: targets are 1 to 3, expected 0 to 2");
    HT_TEST_EXPECT_ERROR(ht_ctc_loss(x, ht_narrow(targets, 0, 0, 2), in, out, HT_MEAN),
                         HT_ERR_SHAPE,
                         "ht_ctc_loss: targets is (2, 3), expected (4, S), or one axis");
    HT_TEST_EXPECT_ERROR(ht_ctc_loss(make_log_probs(HT_FLOAT64, 2), targets, in, out, HT_MEAN),
                         HT_ERR_ARGUMENT, "log_probs is split along axis 2");
    HT_TEST_EXPECT_ERROR(ht_ctc_loss(in, targets, in, out, HT_MEAN), HT_ERR_DTYPE,
                         "log_probs is int32");
    options.blank = 4;
    HT_TEST_EXPECT_ERROR(ht_ctc_loss_ext(x, targets, in, out, &options), HT_ERR_ARGUMENT,
                         "ht_ctc_loss_ext: blank is 4, expected 0 to 3");
}

HT_TEST_SUITE(test_golden_ctc, cmocka_unit_test(losses_are_those_of_pytorch),
              cmocka_unit_test(bad_operands_are_errors));
