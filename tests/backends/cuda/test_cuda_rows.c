/* ranks 1 own device */
/* SPDX-License-Identifier: MIT */
/* Weights of float32 from softmax and attention of the CUDA module, compared with those of double.
 * Scores are multiples of 2^-10, so that their differences are exact. */
#include <math.h>

#include "cuda_device.h"
#include "tensor_check.h"

enum { ROWS = 3, COLUMNS = 400 };

static float scores[ROWS][COLUMNS];

/* From -80 to 80; the range of a row is up to 80. */
static void fill(double expected[ROWS][COLUMNS])
{
    for (int row = 0; row < ROWS; row++) {
        double sum = 0, max = -INFINITY;

        for (int j = 0; j < COLUMNS; j++) {
            scores[row][j] = 40 * (float)(row - 1) + (float)((7919 * j + 31) % 40961) * 0x1p-10f;
            max = fmax(max, scores[row][j]);
        }
        scores[row][row] -= 40;
        for (int j = 0; j < COLUMNS; j++)
            sum += exp(scores[row][j] - max);
        for (int j = 0; j < COLUMNS; j++)
            expected[row][j] = exp(scores[row][j] - max) / sum;
    }
}

static void check(ht_tensor *y, double expected[ROWS][COLUMNS])
{
    static float got[ROWS][COLUMNS];

    assert_non_null(y);
    assert_int_equal(ht_tensor_to_array(y, got, ROWS * COLUMNS, HT_FLOAT32), HT_SUCCESS);
    for (int row = 0; row < ROWS; row++)
        for (int j = 0; j < COLUMNS; j++) {
            const float right = (float)expected[row][j], ulp = nextafterf(right, 1) - right;

            if (!(fabs(got[row][j] - expected[row][j]) <= 4 * ulp))
                fail_msg("row %d: the weight of %g is %.9g, expected %.9g", row, scores[row][j],
                         got[row][j], expected[row][j]);
        }
}

static void weights_are_within_4_ulp(void **state)
{
    static double expected[ROWS][COLUMNS];
    ht_device *device = cuda_device();
    ht_tensor *x, *one, *eye;

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    fill(expected);
    x = ht_to_device(ht_array(scores, HT_SHAPE(ROWS, COLUMNS), HT_FLOAT32, HT_LOCAL), device);
    check(ht_softmax(x, 1), expected);

    /* One query per row, of one number, which is 1; the values are the identity. */
    one = ht_to_device(ht_ones(HT_SHAPE(ROWS, 1, 1), HT_FLOAT32, HT_LOCAL), device);
    eye = ht_to_device(ht_eye(COLUMNS, COLUMNS, HT_FLOAT32, HT_LOCAL), device);
    eye = ht_broadcast_to(ht_expand_dims(eye, 0), HT_SHAPE(ROWS, COLUMNS, COLUMNS));
    check(ht_scaled_dot_product_attention(one, ht_expand_dims(x, 2), ht_copy(eye)), expected);
}

HT_TEST_SUITE(test_cuda_rows, cmocka_unit_test(weights_are_within_4_ulp));
