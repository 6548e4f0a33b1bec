/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include "ht_test.h"
#include "tensor_check.h"

static int split_of(int i)
{
    return i < 0 ? HT_NONE : i;
}

static void frequencies_stand_where_transforms_have_them(void **state)
{
    (void)state;
    for (int split = -1; split < 1; split++) {
        ht_tensor *odd = ht_fftfreq(5, 0.5, split_of(split));

        ht_test_expect(odd, (double[]){0, 0.4, 0.8, -0.8, -0.4}, 1e-7);
        ht_test_expect(
            ht_fftfreq_ext(4, 1, HT_FLOAT64, split_of(split), ht_get_device(), HT_COMM_WORLD),
            (double[]){0, 0.25, -0.5, -0.25}, 0);
        ht_test_expect(ht_rfftfreq(5, 1, split_of(split)), (double[]){0, 0.2, 0.4}, 1e-7);
        ht_test_expect(
            ht_rfftfreq_ext(4, 2, HT_FLOAT64, split_of(split), ht_get_device(), HT_COMM_WORLD),
            (double[]){0, 0.125, 0.25}, 0);
        ht_test_expect(ht_fftshift(odd, 0, NULL), (double[]){-0.8, -0.4, 0, 0.4, 0.8}, 1e-7);
        ht_test_expect_same(ht_ifftshift(ht_fftshift(odd, HT_AXES(-1)), 0, NULL), odd, 0);
    }
}

/* As NumPy has them: of 2 samples -1/2 of all frequencies, but 1/2 of those that are not negative.
 */
static void frequencies_of_few_samples(void **state)
{
    const double d = 0.25;

    (void)state;
    for (int n = 1; n <= 9; n++) {
        double all[9], half[9];

        for (int i = 0; i < n; i++) {
            all[i] = (i < (n + 1) / 2 ? i : i - n) / (n * d);
            half[i] = i / (n * d);
        }
        for (int split = -1; split < 1; split++) {
            ht_tensor *of_all = ht_fftfreq(n, d, split_of(split));
            ht_tensor *of_half = ht_rfftfreq(n, d, split_of(split));

            assert_int_equal(ht_tensor_size(of_all), n);
            assert_int_equal(ht_tensor_size(of_half), n / 2 + 1);
            ht_test_expect(of_all, all, 1e-6);
            ht_test_expect(of_half, half, 1e-6);
        }
    }
}

HT_TEST_SUITE(test_fft_frequencies, cmocka_unit_test(frequencies_stand_where_transforms_have_them),
              cmocka_unit_test(frequencies_of_few_samples));
