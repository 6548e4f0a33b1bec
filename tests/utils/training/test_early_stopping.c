/* ranks 1 */
/* SPDX-License-Identifier: MIT */
/* Early stopping, epoch by epoch. */
#include "ht_test.h"

#include <math.h>

#include "ht.h"

/* The epoch, counted from 1, at which it says stop; 0: never. */
static int stops_at(ht_early_stopping *stopping, int count, const double metrics[])
{
    for (int i = 0; i < count; i++) {
        if (ht_early_stopping_step(stopping, metrics[i]))
            return i + 1;
    }
    return 0;
}

static void check(bool maximize, int64_t patience, double min_delta, int count,
                  const double metrics[], int expected)
{
    ht_early_stopping_options options = ht_early_stopping_options_default();
    ht_early_stopping *stopping;

    options.maximize = maximize;
    options.patience = patience;
    options.min_delta = min_delta;
    stopping = ht_early_stopping_new(&options);
    assert_int_equal(stops_at(stopping, count, metrics), expected);
    ht_release(stopping);
}

static void test_stops_after_patience(void **state)
{
    (void)state;
    /* Best in epoch 2; 3 and 4 are borne, 5 is not. */
    check(false, 2, 0, 6, (double[]){3, 1, 2, 2, 2, 0}, 5);
    /* Epoch 4 is better: counting begins again. */
    check(false, 2, 0, 7, (double[]){3, 1, 2, 0.5, 2, 2, 2}, 7);
    check(true, 0, 0, 3, (double[]){1, 2, 2}, 3);
    /* A change of 0.05 is not an improvement, one of 0.3 is. */
    check(true, 1, 0.1, 4, (double[]){1, 1.05, 1.3, 1.35}, 0);
    check(true, 1, 0.1, 3, (double[]){1, 1.05, 1.06}, 3);
    /* NaN is not an improvement, also at the start. */
    check(false, 1, 0, 3, (double[]){1, NAN, NAN}, 3);
    check(false, 1, 0, 3, (double[]){NAN, NAN, 1}, 2);
    check(false, 1, 0, 4, (double[]){NAN, 5, NAN, 4}, 0);
}

static void test_state(void **state)
{
    ht_early_stopping *stopping = ht_early_stopping_new(NULL), *resumed;
    ht_early_stopping_options options = ht_early_stopping_options_default();

    (void)state;
    options.patience = 2;
    resumed = ht_early_stopping_new(&options);
    stops_at(stopping, 2, (double[]){1, 2});
    assert_int_equal(
        ht_early_stopping_load_state_dict(resumed, ht_early_stopping_state_dict(stopping)),
        HT_SUCCESS);
    assert_int_equal(stops_at(resumed, 3, (double[]){1, 1, 1}), 2);
    ht_release(resumed);
    ht_release(stopping);
}

static void test_misuse(void **state)
{
    ht_early_stopping_options options = ht_early_stopping_options_default();
    const char *message;

    (void)state;
    options.patience = -1;
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_null(ht_early_stopping_new(&options));
    ht_error_get(&message);
    assert_string_equal(message,
                        "ht_early_stopping_new: patience is -1 and min_delta is 0, expected at "
                        "least 0 each");
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
}

HT_TEST_SUITE(test_early_stopping, cmocka_unit_test(test_stops_after_patience),
              cmocka_unit_test(test_state), cmocka_unit_test(test_misuse));
