/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Functions that compute in other shapes than that of their result return no views: results can be
 * resplit, and written in place. */
#include "core/tensor/tensor.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { RESULTS = 3, N = 6 };

static ht_tensor *numbers(int ndim, const int64_t shape[], int split)
{
    return ht_test_randn(ndim, shape, HT_FLOAT32, split, 3);
}

/* A batch of images with `spatial` axes, or one image without the batch axis. */
static ht_tensor *images(int spatial, bool batched, int split)
{
    static const int64_t shape[] = {N, 2, 4, 4, 4};

    return numbers(spatial + 1 + batched, shape + !batched, batched ? split : HT_NONE);
}

static ht_tensor *kernel(int spatial)
{
    return numbers(spatial + 2, (int64_t[]){2, 2, 2, 2, 2}, HT_NONE);
}

static void convolutions(ht_tensor *y[RESULTS], int split, bool batched)
{
    y[0] = ht_conv1d(images(1, batched, split), kernel(1), NULL, NULL);
    y[1] = ht_conv2d_ext(images(2, batched, split), kernel(2), NULL, NULL);
    y[2] = ht_conv3d(images(3, batched, split), kernel(3), NULL, NULL);
}

static void transposed_convolutions(ht_tensor *y[RESULTS], int split, bool batched)
{
    y[0] = ht_conv_transpose1d(images(1, batched, split), kernel(1), NULL, NULL);
    y[1] = ht_conv_transpose2d(images(2, batched, split), kernel(2), NULL, NULL);
    y[2] = ht_conv_transpose3d(images(3, batched, split), kernel(3), NULL, NULL);
}

static void pools(ht_tensor *y[RESULTS], int split, bool batched)
{
    ht_pool_options o = ht_pool_options_default();

    (void)batched;
    for (int i = 0; i < 3; i++)
        o.kernel[i] = 2;
    y[0] = ht_max_pool(images(1, true, split), &o);
    y[1] = ht_max_pool(images(2, true, split), &o);
    y[2] = ht_max_pool(images(3, true, split), &o);
}

static void places(ht_tensor *y[RESULTS], int split, bool batched)
{
    const int spatial = batched ? 1 : 2;
    ht_pool_options o = ht_pool_options_default();

    for (int i = 0; i < spatial; i++)
        o.kernel[i] = 2;
    y[0] = ht_max_pool_ext(images(spatial, true, split), &o, &y[1]);
    y[2] = ht_max_unpool(y[0], y[1], &o, NULL);
}

static void windows(ht_tensor *y[RESULTS], int split, bool batched)
{
    ht_pool_options o = ht_pool_options_default();

    (void)batched;
    for (int i = 0; i < 2; i++) {
        o.kernel[i] = 2;
        o.padding[i] = 1;
    }
    y[0] = ht_unfold(images(2, true, split), &o);
    y[1] = ht_fold(y[0], (int64_t[]){4, 4}, &o);
}

static void losses(ht_tensor *y[RESULTS], int split, bool batched)
{
    ht_tensor *target = ht_zeros(HT_SHAPE(N, 4), HT_INT64, split);
    ht_class_loss_options o = ht_class_loss_options_default();

    (void)batched;
    o.reduction = HT_NO_REDUCTION;
    y[0] = ht_cross_entropy_ext(images(1, true, split), target, &o);
}

/* (T, N, F), (N, T, F) or (T, F); y and the last states. */
static void recurrent(ht_tensor *y[RESULTS], int split, bool batched)
{
    ht_recurrent_options o = ht_recurrent_options_default();
    ht_tensor *weights[4];

    for (int i = 0; i < 2; i++) {
        weights[i] = numbers(2, (int64_t[]){8, 2}, HT_NONE);
        weights[2 + i] = numbers(1, (int64_t[]){8}, HT_NONE);
    }
    o.batch_first = batched;
    y[0] = ht_lstm(batched ? numbers(HT_SHAPE(N, 4, 2), split) : numbers(HT_SHAPE(4, 2), HT_NONE),
                   4, weights, &o, NULL, &y[1], &y[2]);
}

static void cells(ht_tensor *y[RESULTS], int split, bool batched)
{
    ht_tensor *w = numbers(2, (int64_t[]){8, 2}, HT_NONE), *x;

    x = batched ? numbers(HT_SHAPE(N, 2), split) : numbers(HT_SHAPE(2), HT_NONE);
    y[0] = ht_lstm_cell(x, NULL, NULL, w, w, NULL, NULL, &y[1]);
}

static const struct {
    const char *name;
    void (*call)(ht_tensor *y[RESULTS], int split, bool batched);
    int count;
} rows[] = {{"convolution", convolutions, 3},
            {"transposed convolution", transposed_convolutions, 3},
            {"pool", pools, 3},
            {"places", places, 3},
            {"windows", windows, 2},
            {"losses", losses, 1},
            {"recurrent", recurrent, 3},
            {"cells", cells, 2}};

static void results_own_their_memory(void **state)
{
    (void)state;
    for (int i = 0; i < 4 * (int)(sizeof rows / sizeof *rows); i++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *y[RESULTS] = {NULL};

        rows[i / 4].call(y, i % 2 ? 0 : HT_NONE, i / 2 % 2);
        for (int k = 0; k < rows[i / 4].count; k++) {
            assert_non_null(y[k]);
            if (y[k]->view)
                fail_msg("result %d of %s, split %d, batched %d, is a view", k, rows[i / 4].name,
                         i % 2, i / 2 % 2);
            assert_int_equal(ht_resplit_(y[k], ht_tensor_split(y[k]) == HT_NONE ? 0 : HT_NONE),
                             HT_SUCCESS);
        }
        ht_scope_close(scope);
    }
}

HT_TEST_SUITE(test_owned_functional, cmocka_unit_test(results_own_their_memory));
